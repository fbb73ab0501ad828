// MPI_Scatter and MPI_Scatterv: the root's parts to everyone, in rank order.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `all` matters at the root only; its count is that of one rank's part. The data of `mine` may be
// MPI_IN_PLACE at the root.
void scatter_binomial(Transfer& transfer, const Source& all, const Target& mine, int root);
int scatter(Transfer& transfer, const Source& all, const Target& mine, int root);

// Rank i's part is `counts[i]` elements at `displacements[i]`, which matter at the root only.
int scatterv(Transfer& transfer, const Source& all, const RankArray& counts,
             const RankArray& displacements, const Target& mine, int root);

}  // namespace sesame::mpi::collectives
