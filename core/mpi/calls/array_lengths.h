// How many elements an array has that the program passes without its length (functions.table). 0
// where the communicator is wrong, which the call itself will find.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

Count peers(Comm comm);  // of an intercommunicator: the ranks of the other group
Count local_peers(Comm comm);
Count root_peers(int root, Comm comm);          // of an array that only the root gives
Count at_root(int count, int root, Comm comm);  // likewise, of an intracommunicator
Count in_neighbors(Comm comm);
Count out_neighbors(Comm comm);
Count dimensions(Comm comm);  // of a grid

// With MPI_IN_PLACE arrays that describe what is sent are not looked at.
inline Count send_peers(const void* sendbuf, Comm comm) {
  return sendbuf == MPI_IN_PLACE ? 0 : peers(comm);
}

}  // namespace sesame::mpi
