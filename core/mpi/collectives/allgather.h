// MPI_Allgather and MPI_Allgatherv: each rank's block to all ranks, in rank order. Functions with
// an algorithm in their name are for intra-communicators; allgather() and allgatherv() choose one
// as MPICH (thresholds.h) or Open MPI does (open_mpi_rules.h), serve inter-communicators too, and
// return an MPI error class.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// The own block must be in `all` already, at its final position; the count of `all` is that of one
// rank's block. Recursive doubling requires a power of two of ranks; the algorithm of Bruck et al.,
// "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997,
// and the ring work for any number.
void allgather_doubling(Transfer& transfer, const Target& all);
void allgather_bruck(Transfer& transfer, const Target& all);
void allgather_ring(Transfer& transfer, const Target& all);
// Exchanges with the two neighbours in turn, of two blocks after the first step (Chen, Zhang, Zhang
// and Yuan, "Performance evaluation of allgather algorithms on terascale Linux cluster with fast
// Ethernet", 2005). Requires an even number of ranks.
void allgather_neighbor(Transfer& transfer, const Target& all);
// Each rank sends to all others.
void allgather_at_once(Transfer& transfer, const Target& all);
// The source may be MPI_IN_PLACE.
int allgather(Transfer& transfer, const Source& mine, const Target& all);

// Blocks of different size: rank i's block is `counts[i]` elements at `displacements[i]` of `all`.
// The counts must be the same on all ranks.
struct RankBlocks {
  Target all;
  RankArray counts;
  RankArray displacements;

  void* at(int rank) const { return all.at(displacements[rank]); }
};
void allgatherv_doubling(Transfer& transfer, const RankBlocks& parts);
void allgatherv_bruck(Transfer& transfer, const RankBlocks& parts);
// A block is sent in messages of at most `segment_bytes`.
void allgatherv_ring(Transfer& transfer, const RankBlocks& parts, Count segment_bytes);
void allgatherv_neighbor(Transfer& transfer, const RankBlocks& parts);
void allgatherv_at_once(Transfer& transfer, const RankBlocks& parts);
int allgatherv(Transfer& transfer, const Source& mine, const RankBlocks& parts);

}  // namespace sesame::mpi::collectives
