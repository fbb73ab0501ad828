// MPI_Barrier: no rank leaves before all ranks have entered.
#pragma once

#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// ceil(log2 p) rounds; in round k every rank signals rank + 2^k (Hensgen, Finkel and Manber, "Two
// algorithms for barrier synchronization", 1988).
void barrier_dissemination(Transfer& transfer);
// For both kinds of communicator, with the algorithm that MPICH would choose. Returns an MPI error
// class.
int barrier(Transfer& transfer);

}  // namespace sesame::mpi::collectives
