// How a scenario's programs are started: their arguments and environments.
#include <algorithm>

#include "core/sim/open_mpi_environment.h"
#include "core/sim/simulation.h"

extern char** environ;

namespace sesame::sim {

void Simulation::make_environment(loader::LaunchArguments* launch) const {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    launch->environment.emplace_back(*variable);
  }
  for (const auto& [name, value] : scenario_.environment) {
    std::erase_if(launch->environment,
                  [&name](const std::string& entry) { return entry.starts_with(name + "="); });
    launch->environment.push_back(name + "=" + value);
  }
}

// The arguments and environment that the ranks of the scenario share. REQUIRES: interface_ is known
// as far as it can be.
const loader::LaunchArguments& Simulation::make_launch() {
  loader::LaunchArguments& launch = launches_.emplace_back();
  launch.arguments.push_back(scenario_.program);
  launch.arguments.insert(launch.arguments.end(), scenario_.arguments.begin(),
                          scenario_.arguments.end());
  make_environment(&launch);
  add_open_mpi_variables(&launch, {{{launch.arguments, scenario_.ranks}}}, 0);
  return launch;
}

// The places of the scenario's ranks, before any is spawned.
std::vector<RankPlace> Simulation::first_places() const {
  std::vector<int> nodes;
  for (const auto& rank : world_->ranks) nodes.push_back(world_->network.node_of(rank->id));
  return places_of(nodes, {});
}

void Simulation::add_open_mpi_variables(loader::LaunchArguments* launch,
                                        const std::vector<StartedProgram>& programs,
                                        size_t program) const {
  if (interface_ != loader::BinaryInterface::kOpenMpi) return;
  std::erase_if(launch->environment, is_open_mpi_variable);
  for (std::string& variable : open_mpi_variables(programs, program, world_->universe_size))
    launch->environment.push_back(std::move(variable));
}

std::string Simulation::own_variables(const RankPlace& place) const {
  if (interface_ != loader::BinaryInterface::kOpenMpi) return {};
  return open_mpi_variables(place);
}

}  // namespace sesame::sim
