// Where a seek leads.
#pragma once

#include "core/mpi/io/file.h"

namespace sesame::mpi {

// The position that MPI_File_seek from `position` means; an error where it is negative.
int find_target(const FileObject& file, int64_t position, Offset offset, int whence,
                int64_t* target);

// How long the file is now.
int file_bytes(const FileObject& file, uint64_t* bytes);

}  // namespace sesame::mpi
