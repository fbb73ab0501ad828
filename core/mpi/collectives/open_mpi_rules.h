// Which algorithm Open MPI chooses for a collective: the rules of its component "tuned", which
// serves intra-communicators of Open MPI 4.1 unless a user configures something else.
//
// Use: where is_followed(), choose_…() gives the algorithm for a number of ranks and bytes: of
// the whole vector in the reductions and MPI_Bcast, of one rank's block in the others.
#pragma once

#include "core/mpi/messages/world.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi::collectives::open_mpi {

// Whether collectives of this run are Open MPI's instead of MPICH's.
inline bool is_followed() { return this_rank().world.open_mpi_collectives; }

enum class Allgather { kDoubling, kBruck, kNeighbor, kRing };
enum class Allgatherv { kGatherBcast, kBruck, kNeighbor, kRing };
enum class Allreduce { kLinear, kReduceBcast, kDoubling, kRing, kHalvingDoubling };
enum class Alltoall { kScattered, kPairwise, kBruck };
enum class Barrier { kLinear, kDoubling, kDissemination, kTree };
enum class Bcast {
  kLinear,
  kChain,
  kSplitBinary,
  kBinary,
  kBinomial,
  kQuadnomial,
  kScatterDoubling
};
enum class Gather { kLinear, kBinomial, kLinearSync };
enum class Reduce { kLinear, kChain, kBinary, kBinomial, kOrderedBinary, kScatterGather };
enum class ReduceScatter { kReduceScatterv, kHalving, kPairwise, kMirrored, kDoubling };
enum class Scatter { kLinear, kBinomial, kAtOnce };

Allgather choose_allgather(int ranks, Count block_bytes);
Allgatherv choose_allgatherv(int ranks, Count mean_block_bytes);
Allreduce choose_allreduce(int ranks, Count bytes, bool commutes);
Alltoall choose_alltoall(int ranks, Count block_bytes);
Alltoall choose_alltoallv(int ranks);
Barrier choose_barrier(int ranks);
Bcast choose_bcast(int ranks, Count bytes);
Gather choose_gather(int ranks, Count block_bytes);
Reduce choose_reduce(int ranks, Count bytes, bool commutes);
ReduceScatter choose_reduce_scatter(int ranks, Count bytes, bool commutes);
ReduceScatter choose_reduce_scatter_block(int ranks, Count block_bytes, bool commutes);
Scatter choose_scatter(int ranks, Count block_bytes);

}  // namespace sesame::mpi::collectives::open_mpi
