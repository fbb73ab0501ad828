// Which algorithm Open MPI chooses for a collective: the rules of its component "tuned", which
// serves intra-communicators of Open MPI 4.1 unless a user configures something else, and those of
// its component "libnbc", which serves the non-blocking and persistent forms.
//
// Use: where is_followed(), choose_…() gives the algorithm for a number of ranks and bytes: of
// the whole vector in the reductions and MPI_Bcast, of one rank's block in the others. For the
// other forms (Transfer::is_blocking()) choose_ibcast() and its like do so; collectives that have
// none use one algorithm, whatever the size (docs/models/collectives.md).
#pragma once

#include "core/mpi/messages/world.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi::collectives::open_mpi {

// Whether collectives of this run are Open MPI's instead of MPICH's.
inline bool is_followed() { return this_rank().world.open_mpi_collectives; }

enum class Allgather { kDoubling, kBruck, kNeighbor, kRing };
enum class Allgatherv { kGatherBcast, kBruck, kNeighbor, kRing };
enum class Allreduce {
  kLinear,
  kReduceBcast,
  kDoubling,
  kRing,
  kHalvingDoubling,
  kBinomial,  // reduction to rank 0 and broadcast by binomial trees
  kHardware,  // in the network; no rule of Open MPI has it, nor the next
  kTwoLevel   // within each node, and between the nodes
};
enum class Alltoall { kScattered, kPairwise, kBruck };
enum class Barrier { kLinear, kDoubling, kDissemination, kTree, kHardware, kTwoLevel };
enum class Bcast {
  kLinear,
  kChain,
  kPipeline,  // the chain, in segments
  kSplitBinary,
  kBinary,
  kBinomial,
  kQuadnomial,
  kScatterDoubling,
  kTwoLevel
};
enum class Gather { kLinear, kBinomial, kLinearSync };
enum class Reduce {
  kLinear,
  kChain,
  kPipeline,
  kBinary,
  kBinomial,
  kOrderedBinary,
  kScatterGather,
  kTwoLevel
};
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

// `elements` of the vector, where an algorithm needs one or more for each rank.
Allreduce choose_iallreduce(int ranks, Count bytes, Count elements, bool commutes, bool in_place);
Bcast choose_ibcast(int ranks, Count bytes);
Reduce choose_ireduce(int ranks, Count bytes, Count elements, bool commutes);

// Bytes of a segment of the pipelines.
Count bcast_segment(Count bytes);
inline constexpr Count kReduceSegment = 8192;

}  // namespace sesame::mpi::collectives::open_mpi
