// MPI_Barrier: no rank leaves before all ranks have entered.
#pragma once

#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// ceil(log2 p) rounds; in round k every rank signals rank + 2^k (Hensgen, Finkel and Manber, "Two
// algorithms for barrier synchronization", 1988).
void barrier_dissemination(Transfer& transfer);
// All ranks signal rank 0, which then signals all.
void barrier_linear(Transfer& transfer);
// Recursive doubling; ranks beyond a power of two signal one below before and are signalled after.
void barrier_doubling(Transfer& transfer);
// Signals up a binomial tree and down again.
void barrier_tree(Transfer& transfer);
// For both kinds of communicator, with the algorithm that MPICH or Open MPI (open_mpi_rules.h)
// would choose. Returns an MPI error class.
int barrier(Transfer& transfer);

}  // namespace sesame::mpi::collectives
