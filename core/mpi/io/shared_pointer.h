// The pointer that the ranks of a file share. It lies with the metadata of the file: every use of
// it is one request to the file system's metadata service, in the order of simulated time.
#pragma once

#include "core/mpi/io/file_call.h"

namespace sesame::mpi {

// An ordered collective: the ranks' data lie in the file by rank, from the shared pointer on.
int run_ordered(const FileCall& call, Transfer& transfer, Status* status);

}  // namespace sesame::mpi
