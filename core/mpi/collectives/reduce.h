// MPI_Reduce: the combination of all ranks' vectors, in rank order, at the root.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `send` may be MPI_IN_PLACE at the root; `receive` matters at the root only.
void reduce_binomial(Transfer& transfer, const void* send, void* receive,
                     const Reduction& reduction, int root);
// Reduce-scatter by recursive halving, then a binomial gather (Rabenseifner 1997). Commutative
// operations, at least as many elements as the largest power of two of ranks.
void reduce_scatter_gather(Transfer& transfer, const void* send, void* receive,
                           const Reduction& reduction, int root);

int reduce_intra(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                 int root);
int reduce(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
           int root);

}  // namespace sesame::mpi::collectives
