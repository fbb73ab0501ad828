// The result of a simulation as one JSON file, whose keys docs/formats/scenario.md lists.
#pragma once

#include <string>

#include "core/base/error.h"

namespace sesame::sim {

class Simulation;

// Written whole or not at all.
Result<> write_result(const Simulation& simulation, const std::string& path);

}  // namespace sesame::sim
