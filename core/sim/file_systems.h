// Creates the simulated file systems of a machine for a run.
#pragma once

#include <memory>

#include "core/base/error.h"
#include "core/machine/machine.h"
#include "core/mpi/messages/world.h"
#include "core/network/network.h"
#include "core/pdes/event_queue.h"
#include "core/sim/scenario.h"
#include "core/storage/mounts.h"

namespace sesame::sim {

// Sets World::mounts, and World::replicas if several workers simulate. Does nothing for a machine
// without storage, whose programs use the files of the host.
Result<> make_file_systems(const Scenario& scenario, const machine::Machine& machine,
                           mpi::World& world);

// Gives each of the first `nodes` nodes its local file system, if it does not have one yet. To be
// called before more ranks run on nodes.
Result<> extend_file_systems(storage::Mounts& mounts, int nodes, const Scenario& scenario,
                             const machine::Machine& machine, const network::Network& network,
                             pdes::EventQueue& events);

}  // namespace sesame::sim
