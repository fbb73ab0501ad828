// The shared file pointer. It is stored with the metadata of the file: each use is one request to
// the metadata server, in the order of simulated time.
#pragma once

#include "core/mpi/io/file_call.h"

namespace sesame::mpi {

// The body of MPI_File_read_ordered and _write_ordered: moves the ranks' data from the shared
// pointer on, in the order of ranks, and advances the pointer. All ranks must call it. Returns an
// MPI error class.
int run_ordered(const FileCall& call, Transfer& transfer, Status* status);

}  // namespace sesame::mpi
