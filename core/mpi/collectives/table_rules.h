// The algorithm that the machine file chooses for a collective ([[collectives.NAME]]), before the
// rules of an MPI library do.
#pragma once

#include <optional>

#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi::collectives {

// Whether these ranks can use it: two levels need ranks that share nodes and others that do not,
// and the network's hardware serves whole communicators.
template <typename Algorithm>
bool is_possible(Transfer& transfer, Algorithm algorithm) {
  if constexpr (requires { Algorithm::kTwoLevel; }) {
    if (algorithm == Algorithm::kTwoLevel) return transfer.has_two_levels();
  }
  if constexpr (requires { Algorithm::kHardware; }) {
    if (algorithm == Algorithm::kHardware) return !transfer.is_part();
  }
  return true;
}

// `Algorithm` is the enumeration of this collective in open_mpi_rules.h. None: the library chooses.
template <typename Algorithm>
std::optional<Algorithm> table_choice(machine::Collective collective, Transfer& transfer,
                                      Count bytes) {
  const auto& rules = this_rank().world.collective_tables.rules[static_cast<size_t>(collective)];
  for (const machine::CollectiveRule& rule : rules) {
    const auto algorithm = static_cast<Algorithm>(rule.algorithm);
    if (rule.holds_for(transfer.size(), static_cast<uint64_t>(bytes), transfer.is_blocking()) &&
        is_possible(transfer, algorithm))
      return algorithm;
  }
  return std::nullopt;
}

}  // namespace sesame::mpi::collectives
