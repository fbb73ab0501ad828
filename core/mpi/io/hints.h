// The hints of files (MPI_Info). hints.cc lists those that are supported.
#pragma once

#include "core/mpi/io/file.h"

namespace sesame::mpi {

struct World;

// Applies the supported hints (`hints` may be null) and updates what MPI_File_get_info returns.
// Ignores other hints and invalid values, as MPI requires. All ranks of the file should give the
// same hints.
void apply_file_hints(FileObject& file, const InfoObject* hints);

// The striping that the hints request for a new file.
storage::Striping striping_wanted(const InfoObject& hints);

// Records for the summary that the job uses this file of the host. Its accesses take no simulated
// time.
void record_host_file(World& world, const std::string& path);

}  // namespace sesame::mpi
