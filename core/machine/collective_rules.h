// Which algorithms collectives use where a machine file says it: its [[collectives.NAME]] tables,
// and [collectives.hardware] for those that the network does itself.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace sesame::machine {

// The order is that of kCollectiveNames.
enum class Collective {
  kAllgather,
  kAllreduce,
  kAlltoall,
  kBarrier,
  kBcast,
  kGather,
  kReduce,
  kScatter
};
inline constexpr size_t kCollectives = 8;
inline constexpr std::array<const char*, kCollectives> kCollectiveNames = {
    "allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce", "scatter"};

// Which forms of a collective a rule is for: MPI_X, or those that MPI_IX and MPI_X_init start.
enum class CollectiveForms { kAll, kBlocking, kNonBlocking };
inline constexpr const char* kCollectiveFormsWords[] = {"all", "blocking", "non-blocking"};

// Which numbers of ranks a rule is for, below its limit.
enum class CollectiveRanks { kAny, kPowerOfTwo };
inline constexpr const char* kCollectiveRanksWords[] = {"any", "power-of-two"};

// Holds for at most so many ranks and bytes: of the whole vector in the reductions and MPI_Bcast,
// of one rank's block in the others.
struct CollectiveRule {
  int64_t ranks_up_to = std::numeric_limits<int64_t>::max();
  uint64_t up_to = std::numeric_limits<uint64_t>::max();
  int algorithm = 0;  // the position in algorithm_words()
  CollectiveForms forms = CollectiveForms::kAll;
  CollectiveRanks ranks = CollectiveRanks::kAny;

  bool holds_for(int size, uint64_t bytes, bool is_blocking) const {
    const bool is_form =
        forms == CollectiveForms::kAll || (forms == CollectiveForms::kBlocking) == is_blocking;
    const bool is_size =
        ranks == CollectiveRanks::kAny || std::has_single_bit(static_cast<unsigned>(size));
    return is_form && is_size && size <= ranks_up_to && bytes <= up_to;
  }
};

struct CollectiveTables {
  std::array<std::vector<CollectiveRule>, kCollectives> rules;  // the first that fits holds
  SimTime hardware_latency;       // from the entry of the last rank to the end on all
  double hardware_bandwidth = 0;  // of the reduced vector, bytes/s; 0: its bytes take no time
};

// The words of an algorithm, in the order of the enumerations of mpi/collectives/open_mpi_rules.h.
std::span<const char* const> algorithm_words(Collective collective);

}  // namespace sesame::machine
