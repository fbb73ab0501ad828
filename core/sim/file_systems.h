// Creates the simulated file systems of a machine for a run.
#pragma once

#include <memory>

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/network/network.h"
#include "core/pdes/event_queue.h"
#include "core/sim/scenario.h"
#include "core/storage/mounts.h"

namespace sesame::sim {

// Null for a machine without storage, whose programs use the files of the host.
Result<std::unique_ptr<storage::Mounts>> make_file_systems(const Scenario& scenario,
                                                           const machine::Machine& machine,
                                                           const network::Network& network,
                                                           pdes::EventQueue& events);

// The first `nodes` nodes have their local file systems from now on, also those that ran no rank.
Result<> extend_file_systems(storage::Mounts& mounts, int nodes, const Scenario& scenario,
                             const machine::Machine& machine, const network::Network& network,
                             pdes::EventQueue& events);

}  // namespace sesame::sim
