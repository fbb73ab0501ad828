// The hints of files (MPI_Info): which we know, and what they set.
#pragma once

#include "core/mpi/io/file.h"

namespace sesame::mpi {

struct World;

// Takes over the hints that we know; others, and values that make no sense, are ignored, as MPI
// has it. All ranks of the file are to give the same.
void take_file_hints(FileObject& file, const InfoObject* hints);

// The hints about where a new file lies.
storage::Striping striping_wanted(const InfoObject& hints);

// Remembers that this file is one of the host, which takes no simulated time.
void note_host_file(World& world, const std::string& path);

}  // namespace sesame::mpi
