// Describes why a simulation can make no progress: what each blocked rank waits for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/mpi/messages/world.h"

namespace sesame::sim {

// A rank that has not ended, as text, so that it can be one of another process.
struct BlockedRank {
  int rank;
  std::string wait;    // the call and what it waits for
  int waited_for;      // the rank that must act, or -1
  int lock;            // the rank whose lock of a window it waits for, or -1
  std::string helper;  // of a non-blocking collective: what that waits for
};
// Nothing if the rank has ended.
std::optional<BlockedRank> describe_blocked(const mpi::Rank& rank);
// All ranks that have not ended, in order. REQUIRES: this process simulates all.
std::vector<BlockedRank> find_blocked(const mpi::World& world);

// A few lines for the user. REQUIRES: `blocked` are all ranks that have not ended, at least one, in
// order.
std::string explain_deadlock(const mpi::World& world, const std::vector<BlockedRank>& blocked);

}  // namespace sesame::sim
