// What a worker assumes about the sources of its ranks' receives, as the scenario says
// (docs/models/parallel.md).
#pragma once

#include "core/base/error.h"
#include "core/mpi/messages/world.h"
#include "core/sim/scenario.h"

namespace sesame::sim {

// Gives each rank of this worker what is expected of the messages that it receives. A file
// that is unreadable or wrong is an Error. REQUIRES: the scenario's sources are kTags or kExpected;
// no rank has run.
Result<> expect_sources(const Scenario& scenario, const mpi::RemoteRanks& workers,
                        mpi::World& world);

}  // namespace sesame::sim
