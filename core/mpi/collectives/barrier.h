// MPI_Barrier.
#pragma once

#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// ceil(log2 p) rounds; in round k every rank signals rank + 2^k (Hensgen, Finkel and Manber, "Two
// algorithms for barrier synchronization", 1988).
void barrier_dissemination(Transfer& transfer);
// Either kind of communicator; the algorithm MPICH would take. The same for all functions of this
// folder without an algorithm in their name.
int barrier(Transfer& transfer);

}  // namespace sesame::mpi::collectives
