// MPI_Allreduce: the reduction of all ranks' vectors, in rank order, on all ranks. allreduce()
// chooses the algorithm as MPICH (thresholds.h) or Open MPI does (open_mpi_rules.h) and returns an
// MPI error class.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `vector` is the own contribution and becomes the result. Intra-communicators only.
void allreduce_doubling(Transfer& transfer, void* vector, const Reduction& reduction);
// Reduce-scatter by recursive halving, then allgather by recursive doubling (Rabenseifner 1997).
// For commutative operations and at least as many elements as the largest power of two of ranks.
void allreduce_halving_doubling(Transfer& transfer, void* vector, const Reduction& reduction);
// Reduce-scatter, then allgather, both around a ring. For commutative operations and at least as
// many elements as ranks.
void allreduce_ring(Transfer& transfer, void* vector, const Reduction& reduction);

// `send` may be MPI_IN_PLACE.
int allreduce(Transfer& transfer, const void* send, void* receive, const Reduction& reduction);

}  // namespace sesame::mpi::collectives
