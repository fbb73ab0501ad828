#include "core/sim/file_systems.h"

#include <algorithm>
#include <filesystem>

#include "core/storage/make_file_system.h"

namespace sesame::sim {

using storage::FileSystem;
using storage::Mounts;

namespace {

std::unique_ptr<FileSystem> make_local(const Scenario& scenario, const machine::Machine& machine,
                                       const network::Network& network, pdes::EventQueue& events,
                                       int node) {
  return storage::make_file_system(*machine.node_storage, network, events,
                                   scenario.seed + static_cast<uint64_t>(node) + 1);
}

int nodes_used(const network::Network& network) {
  int nodes = 0;  // up to the last node with a rank
  for (int rank = 0; rank < network.ranks(); ++rank)
    nodes = std::max(nodes, network.node_of(rank) + 1);
  return nodes;
}

// In a parallel simulation each worker gets a copy.
Result<> add_shared(const machine::StorageParameters& parameters, uint64_t seed, Mounts& mounts,
                    mpi::World& world) {
  pdes::Executive& executive = world.executive;
  const bool is_copied = world.replicas != nullptr;
  auto system = storage::make_file_system(parameters, world.network,
                                          is_copied ? executive.model_events() : executive.events(),
                                          seed, world.traffic.get());
  if (is_copied) system = world.replicas->replicate(std::move(system));
  return mounts.add(parameters.mounts, std::move(system), parameters.block);
}

}  // namespace

Result<> make_file_systems(const Scenario& scenario, const machine::Machine& machine,
                           mpi::World& world) {
  if (!machine.storage && !machine.node_storage) return {};
  Mounts::Options options;
  options.directory = scenario.files_directory.empty() ? scenario.output_directory + "/files"
                                                       : scenario.files_directory;
  options.working_directory = scenario.working_directory.empty()
                                  ? std::filesystem::current_path().string()
                                  : scenario.working_directory;
  options.discard_data = scenario.discard_data;
  options.shows_originals = !scenario.initial_files;
  auto made = Mounts::create(std::move(options));
  if (!made) return std::unexpected(made.error());
  world.mounts = *std::move(made);
  Mounts& mounts = *world.mounts;
  if (scenario.workers > 1) world.replicas = std::make_unique<storage::Replicas>(world.executive);
  if (machine.storage) {
    auto added = add_shared(*machine.storage, scenario.seed, mounts, world);
    if (!added) return added;
  }
  if (machine.node_storage) {
    std::vector<std::unique_ptr<FileSystem>> by_node;
    const int nodes = nodes_used(world.network);
    for (int node = 0; node < nodes; ++node) {
      by_node.push_back(
          make_local(scenario, machine, world.network, world.executive.events(), node));
    }
    auto added = mounts.add_local(machine.node_storage->mounts, std::move(by_node),
                                  machine.node_storage->block);
    if (!added) return added;
  }
  if (scenario.initial_files) {
    for (const auto& [path, bytes] : *scenario.initial_files)
      if (auto prepared = mounts.prepare(path, bytes); !prepared) return prepared;
  }
  return {};
}

Result<> extend_file_systems(Mounts& mounts, int nodes, const Scenario& scenario,
                             const machine::Machine& machine, const network::Network& network,
                             pdes::EventQueue& events) {
  if (!machine.node_storage) return {};
  const int before = mounts.add_nodes(
      nodes, [&](int node) { return make_local(scenario, machine, network, events, node); });
  if (!scenario.initial_files) return {};
  for (const auto& [path, bytes] : *scenario.initial_files) {
    if (auto made = mounts.prepare(path, bytes, before); !made) return made;
  }
  return {};
}

}  // namespace sesame::sim
