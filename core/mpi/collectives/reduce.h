// MPI_Reduce: the reduction of all ranks' vectors, in rank order, at the root. reduce() chooses the
// algorithm as MPICH (thresholds.h) or Open MPI does (open_mpi_rules.h); it and reduce_intra()
// return an MPI error class.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `send` may be MPI_IN_PLACE at the root; `receive` is used at the root only.
void reduce_binomial(Transfer& transfer, const void* send, void* receive,
                     const Reduction& reduction, int root);
// Reduce-scatter by recursive halving, then a binomial gather (Rabenseifner 1997). For commutative
// operations and at least as many elements as the largest power of two of ranks.
void reduce_scatter_gather(Transfer& transfer, const void* send, void* receive,
                           const Reduction& reduction, int root);
// The root receives all vectors, one after the other from the last rank's on.
void reduce_linear(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                   int root);

// Intra-communicators only.
int reduce_intra(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                 int root);
int reduce(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
           int root);

}  // namespace sesame::mpi::collectives
