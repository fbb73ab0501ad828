// The shared file pointer. It is stored with the metadata of the file: each use is one request to
// the metadata server, in the order of simulated time.
#pragma once

#include "core/mpi/io/file_call.h"

namespace sesame::mpi {

// The body of MPI_File_read_ordered and _write_ordered: the ranks' data follow the shared pointer
// in the order of ranks.
int run_ordered(const FileCall& call, Transfer& transfer, Status* status);

}  // namespace sesame::mpi
