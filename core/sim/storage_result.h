// What the file systems of a run did, for result.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sesame::sim {

class Simulation;

// One object for each file system that was used, that of all nodes first.
nlohmann::json storage_table(const Simulation& simulation);

// The sums that a series of runs is compared by.
void add_storage_totals(const Simulation& simulation, nlohmann::json& result);

}  // namespace sesame::sim
