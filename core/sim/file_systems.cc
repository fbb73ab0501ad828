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

}  // namespace

Result<std::unique_ptr<Mounts>> make_file_systems(const Scenario& scenario,
                                                  const machine::Machine& machine,
                                                  const network::Network& network,
                                                  network::Traffic* traffic,
                                                  pdes::EventQueue& events) {
  if (!machine.storage && !machine.node_storage) return nullptr;
  Mounts::Options options;
  options.directory = scenario.files_directory.empty() ? scenario.output_directory + "/files"
                                                       : scenario.files_directory;
  options.working_directory = scenario.working_directory.empty()
                                  ? std::filesystem::current_path().string()
                                  : scenario.working_directory;
  options.discard_data = scenario.discard_data;
  options.shows_originals = !scenario.initial_files;
  auto mounts = Mounts::create(std::move(options));
  if (!mounts) return mounts;
  if (machine.storage) {
    auto shared =
        storage::make_file_system(*machine.storage, network, events, scenario.seed, traffic);
    auto added = (*mounts)->add(machine.storage->mounts, std::move(shared), machine.storage->block);
    if (!added) return std::unexpected(added.error());
  }
  if (machine.node_storage) {
    std::vector<std::unique_ptr<FileSystem>> by_node;
    const int nodes = nodes_used(network);
    for (int node = 0; node < nodes; ++node) {
      by_node.push_back(make_local(scenario, machine, network, events, node));
    }
    auto added = (*mounts)->add_local(machine.node_storage->mounts, std::move(by_node),
                                      machine.node_storage->block);
    if (!added) return std::unexpected(added.error());
  }
  if (scenario.initial_files) {
    for (const auto& [path, bytes] : *scenario.initial_files)
      if (auto made = (*mounts)->prepare(path, bytes); !made) return std::unexpected(made.error());
  }
  return mounts;
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
