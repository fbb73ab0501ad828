// Positions and sizes of seeks. Functions return an MPI error class.
#pragma once

#include "core/mpi/io/file.h"

namespace sesame::mpi {

// Sets *target to the position to which MPI_File_seek moves the pointer from `position`.
// MPI_ERR_ARG if it is negative.
int seek_target(const FileObject& file, int64_t position, Offset offset, int whence,
                int64_t* target);

// Sets *bytes to the current size of the file.
int query_file_size(const FileObject& file, uint64_t* bytes);

}  // namespace sesame::mpi
