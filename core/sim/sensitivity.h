// What a simulator for sensitivities adds to the result: by how much each parameter of the machine
// changes the predicted time, and the critical path. In the ordinary simulator these functions do
// nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/mpi/messages/world.h"

namespace sesame::sim {

// Before the ranks run: limits the memory of paths.
void prepare_sensitivity(int ranks);
// After the run. docs/formats/scenario.md lists the keys.
void add_sensitivity(const mpi::World& world, nlohmann::json& result);

}  // namespace sesame::sim
