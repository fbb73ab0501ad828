// The algorithm that the machine file chooses for a collective ([[collectives.NAME]]), before the
// rules of an MPI library do. Applies to all forms, blocking or not.
#pragma once

#include <optional>

#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi::collectives {

// `Algorithm` is the enumeration of this collective in open_mpi_rules.h. None: the library chooses.
template <typename Algorithm>
std::optional<Algorithm> table_choice(machine::Collective collective, int ranks, Count bytes) {
  const auto& rules = this_rank().world.collective_tables.rules[static_cast<size_t>(collective)];
  for (const machine::CollectiveRule& rule : rules) {
    if (ranks <= rule.ranks_up_to && static_cast<uint64_t>(bytes) <= rule.up_to)
      return static_cast<Algorithm>(rule.algorithm);
  }
  return std::nullopt;
}

}  // namespace sesame::mpi::collectives
