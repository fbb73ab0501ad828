// MPI_Gather and MPI_Gatherv: everyone's part to the root, in rank order.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `all` matters at the root only; its count is that of one rank's part.
void gather_binomial(Transfer& transfer, const Source& mine, const Target& all, int root);
int gather(Transfer& transfer, const Source& mine, const Target& all, int root);

// Rank i's part goes to `counts[i]` elements at `displacements[i]`, which matter at the root only.
int gatherv(Transfer& transfer, const Source& mine, const Target& all, const RankArray& counts,
            const RankArray& displacements, int root);

}  // namespace sesame::mpi::collectives
