// What cards and links carried, for result.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sesame::sim {

class Simulation;

// One object for each direction of a card and each link that carried a message; empty unless
// messages share them and the run is recorded. LinkPlace (core/network/fabric.h) has the numbers.
nlohmann::json link_table(const Simulation& simulation);

}  // namespace sesame::sim
