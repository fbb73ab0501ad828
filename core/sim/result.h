// The result of a simulation as one JSON file, whose keys docs/formats/scenario.md lists.
#pragma once

#include <string>

#include "core/base/error.h"

namespace sesame::sim {

class Simulation;

// The file is complete or does not exist. REQUIRES: the simulation has run.
Result<> write_result(const Simulation& simulation, const std::string& path);

}  // namespace sesame::sim
