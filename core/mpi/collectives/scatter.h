// MPI_Scatter and MPI_Scatterv: the root's blocks to all ranks, in rank order. scatter() and
// scatterv() serve both kinds of communicator and return an MPI error class. scatter() chooses the
// algorithm as MPICH or Open MPI does (open_mpi_rules.h).
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `all` is used at the root only; its count is that of one rank's block. The data of `mine` may be
// MPI_IN_PLACE at the root.
void scatter_binomial(Transfer& transfer, const Source& all, const Target& mine, int root);
// The root sends to one rank after the other, or to all at once.
void scatter_linear(Transfer& transfer, const Source& all, const Target& mine, int root);
void scatter_at_once(Transfer& transfer, const Source& all, const Target& mine, int root);
int scatter(Transfer& transfer, const Source& all, const Target& mine, int root);

// Rank i's block is `counts[i]` elements at `displacements[i]`; both are used at the root only.
int scatterv(Transfer& transfer, const Source& all, const RankArray& counts,
             const RankArray& displacements, const Target& mine, int root);

}  // namespace sesame::mpi::collectives
