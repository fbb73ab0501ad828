// MPI_Gather and MPI_Gatherv: each rank's block to the root, in rank order. gather() and gatherv()
// serve both kinds of communicator and return an MPI error class. gather() chooses the algorithm as
// MPICH or Open MPI does (open_mpi_rules.h).
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// `all` is used at the root only; its count is that of one rank's block.
void gather_binomial(Transfer& transfer, const Source& mine, const Target& all, int root);
// The root receives from one rank after the other.
void gather_linear(Transfer& transfer, const Source& mine, const Target& all, int root);
// The root receives from all ranks at once.
void gather_at_once(Transfer& transfer, const Source& mine, const Target& all, int root);
// As gather_linear(), but a rank sends when the root asks it to. A second, empty message follows
// each block, as Open MPI's algorithm has it.
void gather_linear_sync(Transfer& transfer, const Source& mine, const Target& all, int root);
int gather(Transfer& transfer, const Source& mine, const Target& all, int root);

// Rank i's block goes to `counts[i]` elements at `displacements[i]`; both are used at the root
// only.
int gatherv(Transfer& transfer, const Source& mine, const Target& all, const RankArray& counts,
            const RankArray& displacements, int root);

}  // namespace sesame::mpi::collectives
