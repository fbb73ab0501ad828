#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/machine/document.h"
#include "core/machine/keys.h"
#include "core/machine/machine.h"
#include "core/machine/network_table.h"
#include "core/machine/settings.h"
#include "core/machine/sharing_table.h"
#include "core/machine/storage_table.h"
#include "core/machine/topology_table.h"

namespace sesame::machine {
namespace {

Result<> check_required(const Document& document) {
  for (const Key& key : keys()) {
    if (!key.required || document.find(key.name) != nullptr) continue;
    return missing_key(document, key.name);
  }
  return {};
}

Result<> read_file_systems(const Document& document, Machine& machine) {
  NodeLimits limits{machine.nodes, machine.memory};
  auto shared = read_storage(document, "storage", limits);
  if (!shared) return std::unexpected(shared.error());
  machine.storage = std::move(*shared);
  if (machine.storage) limits.taken = machine.storage->cnode_cache.size;
  auto local = read_storage(document, "node.storage", limits);
  if (!local) return std::unexpected(local.error());
  machine.node_storage = std::move(*local);
  return check_mounts(document);
}

Result<Machine> assemble(const Document& document) {
  Machine machine;
  machine.path = document.path;
  machine.name = text_of(document, "name");
  machine.description = text_of(document, "description");
  machine.sources = texts_of(document, "sources");
  machine.cores = count_or(document, "node.cores", 1);
  machine.memory = size_or(document, "node.memory", 0);
  machine.compute_ratio = ratio_or(document, "node.compute_ratio", 1);
  machine.slowdown = factors_of(document, "node.slowdown");
  machine.copy_bandwidth = bandwidth_or(document, "node.copy_bandwidth", 0);
  machine.spawn_time = duration_or(document, "node.spawn_time", SimTime::zero());

  auto network = read_network(document, "network");
  if (!network) return std::unexpected(network.error());
  machine.network = std::move(*network);
  machine.collectives =
      choice_or(document, "network.collectives", kCollectiveRulesWords, CollectiveRules::kProgram);

  auto sharing = read_sharing(document, machine.cores);
  if (!sharing) return std::unexpected(sharing.error());
  machine.sharing = std::move(*sharing);

  const bool described = document.find("node.network.latency") != nullptr ||
                         document.find("node.network.bandwidth") != nullptr ||
                         document.find("node.network") != nullptr;
  if (described || machine.cores > 1) {
    auto intranode = read_network(document, "node.network");
    if (!intranode) return std::unexpected(intranode.error());
    machine.intranode = std::move(*intranode);
  } else {
    // One rank per node: only messages from a rank to itself, for which any constants are good
    // enough.
    machine.intranode = machine.network;
    machine.intranode.hop_latency = SimTime::zero();
  }

  auto topology = read_topology(document);
  if (!topology) return std::unexpected(topology.error());
  machine.topology = std::move(*topology);
  const auto nodes = read_nodes(document, machine.topology);
  if (!nodes) return std::unexpected(nodes.error());
  machine.nodes = *nodes;
  if (auto read = read_file_systems(document, machine); !read) return std::unexpected(read.error());
  return machine;
}

}  // namespace

Result<Machine> parse_machine(std::string_view text, const std::string& path,
                              std::span<const std::string> overrides) {
  const auto document = read_document(text, path, overrides);
  if (!document) return std::unexpected(document.error());
  if (auto checked = check_entries(*document); !checked) return std::unexpected(checked.error());
  if (auto checked = check_required(*document); !checked) return std::unexpected(checked.error());
  return assemble(*document);
}

Result<Machine> read_machine(const std::string& path, std::span<const std::string> overrides) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || !text) {
    return error_at(path, 0, std::string("cannot read the machine file: ") + std::strerror(errno));
  }
  return parse_machine(text.str(), path, overrides);
}

}  // namespace sesame::machine
