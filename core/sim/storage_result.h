// Statistics of the simulated file systems for result.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sesame::sim {

class Simulation;

// One object for each file system that was used, the one of all nodes first.
nlohmann::json storage_table(const Simulation& simulation);

// Totals by which runs of a series are compared.
void add_storage_totals(const Simulation& simulation, nlohmann::json& result);

}  // namespace sesame::sim
