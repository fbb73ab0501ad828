// What cards and links carried, for result.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sesame::sim {

class Simulation;

// The record types of python/sesame/datasets/links.py, each an object with a list for each field:
// each direction of a card and each link that carried a message. Empty unless messages share them
// and the run is recorded.
nlohmann::json link_tables(const Simulation& simulation);

}  // namespace sesame::sim
