// Where the collectives change from one algorithm to another. Sizes are bytes, compared with one
// rank's block or with the whole of the data as each line says. The values are the defaults of
// MPICH 4.0 to 4.3, from its selection table maint/tuning/coll/mpir/generic.json and the control
// variables of src/mpi/coll (names given below as CVAR).
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi::collectives {

struct Thresholds {
  // Bcast: up to bcast_short, or with fewer than bcast_min_ranks ranks, binomial; up to bcast_long
  // on a power of two of ranks, scatter and recursive doubling; else scatter and ring. generic.json
  // "bcast"; CVAR BCAST_MIN_PROCS, BCAST_SHORT_MSG_SIZE, BCAST_LONG_MSG_SIZE.
  int bcast_min_ranks = 8;
  Count bcast_short = 12288;
  Count bcast_long = 524288;

  // Allgather, Allgatherv, by the data of all ranks: on a power of two of ranks recursive doubling
  // below allgather_long, on other numbers Bruck below allgather_short; else ring. generic.json
  // "allgather", "allgatherv"; CVAR ALLGATHER_SHORT_MSG_SIZE, ALLGATHER_LONG_MSG_SIZE.
  Count allgather_short = 81920;
  Count allgather_long = 524288;
  // The ring of Allgatherv sends larger blocks in segments. CVAR ALLGATHERV_PIPELINE_MSG_SIZE.
  Count allgatherv_segment = 32768;

  // Alltoall, by the block for one peer: up to alltoall_short Bruck (from alltoall_min_ranks on),
  // up to alltoall_medium scattered, else pairwise. generic.json "alltoall";
  // CVAR ALLTOALL_SHORT_MSG_SIZE, ALLTOALL_MEDIUM_MSG_SIZE.
  int alltoall_min_ranks = 8;
  Count alltoall_short = 256;
  Count alltoall_medium = 32768;
  // Peers with messages in flight at the same time in the scattered algorithm. CVAR
  // ALLTOALL_THROTTLE.
  int alltoall_batch = 32;

  // Reduce: up to reduce_short binomial, else reduce-scatter and gather. generic.json "reduce";
  // CVAR REDUCE_SHORT_MSG_SIZE.
  Count reduce_short = 2048;
  // Allreduce: up to allreduce_short recursive doubling, else reduce-scatter and allgather.
  // generic.json "allreduce" (4.x does not use CVAR ALLREDUCE_SHORT_MSG_SIZE, 2048).
  Count allreduce_short = 8;
  // Reduce_scatter, Reduce_scatter_block, by the whole vector, for commutative operations:
  // recursive halving below reduce_scatter_long, else pairwise. generic.json "reduce_scatter".
  Count reduce_scatter_long = 524288;

  // Gather and Scatter in inter-communicators, by the data of all ranks: below these a local tree
  // and one message, else one message for each rank. CVAR GATHER_INTER_SHORT_MSG_SIZE,
  // SCATTER_INTER_SHORT_MSG_SIZE.
  Count gather_inter_short = 2048;
  Count scatter_inter_short = 2048;
};

inline constexpr Thresholds kThresholds;

}  // namespace sesame::mpi::collectives
