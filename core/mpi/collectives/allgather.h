// MPI_Allgather and MPI_Allgatherv: everyone's part to everyone, in rank order.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// The rank's own part stands in place in `all` already, whose count is that of one rank's part.
// Recursive doubling is for powers of two. Bruck et al., "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", 1997, works for any number of ranks.
void allgather_doubling(Transfer& transfer, const Target& all);
void allgather_bruck(Transfer& transfer, const Target& all);
void allgather_ring(Transfer& transfer, const Target& all);
// The source may be MPI_IN_PLACE.
int allgather(Transfer& transfer, const Source& mine, const Target& all);

// Rank i's part is `counts[i]` elements at `displacements[i]`, on all ranks.
struct PartsOfRanks {
  Target all;
  RankArray counts;
  RankArray displacements;

  void* at(int rank) const { return all.at(displacements[rank]); }
};
void allgatherv_doubling(Transfer& transfer, const PartsOfRanks& parts);
void allgatherv_bruck(Transfer& transfer, const PartsOfRanks& parts);
void allgatherv_ring(Transfer& transfer, const PartsOfRanks& parts);
int allgatherv(Transfer& transfer, const Source& mine, const PartsOfRanks& parts);

}  // namespace sesame::mpi::collectives
