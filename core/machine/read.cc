#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/machine/collective_table.h"
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

// Every text of `assumed` is a key or a table of the file. Values from overrides are the user's
// own.
Result<std::vector<std::string>> read_assumed(const Document& document) {
  std::vector<std::string> assumed;
  const Entry* list = document.find("assumed");
  if (list == nullptr) return assumed;
  const auto is_there = [](const std::vector<Entry>& entries, const std::string& key) {
    return std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.override.empty() && (entry.key == key || entry.key.starts_with(key + "."));
    });
  };
  for (const Value& item : list->value.items) {
    if (is_there(document.entries, item.text)) {
      assumed.push_back(item.text);
    } else if (!is_there(document.replaced, item.text)) {
      Entry place = *list;
      place.value.line = item.line;
      return document.wrong(place, "assumed names a key that is not set, expected a key or table " +
                                       std::string("of this file, got ") + item.shown());
    }
  }
  return assumed;
}

// Links are simulated between groups without a number of links in the file.
bool assumes_global_links(const Document& document, const Machine& machine) {
  return machine.sharing.mode == SharingMode::kLinks &&
         machine.topology.kind == TopologyKind::kDragonfly &&
         document.find("topology.global_links") == nullptr &&
         std::ranges::find(machine.assumed, "topology") == machine.assumed.end();
}

std::string shortest(double number) {
  std::array<char, 32> text;
  const auto [end, status] = std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), end);
}

// More ranks or busy cores on a node never make one of them, or its card, faster.
Result<> check_slowdown(const Document& document, const std::string& key) {
  const Entry* table = document.find(key);
  if (table == nullptr) return {};
  const auto& items = table->value.items;
  const auto fall = std::ranges::adjacent_find(
      items, [](const Value& one, const Value& next) { return next.number < one.number; });
  if (fall == items.end()) return {};
  return document.wrong(*table, key +
                                    " falls, expected factors that rise with the number of "
                                    "ranks, got " +
                                    shortest((fall + 1)->number) + " after " +
                                    shortest(fall->number));
}

// REQUIRES: the cores and the network are read.
Result<NetworkParameters> read_intranode(const Document& document, const Machine& machine) {
  const bool described = document.find("node.network.latency") != nullptr ||
                         document.find("node.network.bandwidth") != nullptr ||
                         document.find("node.network") != nullptr;
  if (described || machine.cores > 1) return read_network(document, "node.network");
  // One rank per node: only messages from a rank to itself, for which any constants are good
  // enough.
  NetworkParameters intranode = machine.network;
  intranode.hop_latency = SimTime::zero();
  return intranode;
}

Result<Machine> assemble(const Document& document) {
  Machine machine;
  machine.path = document.path;
  machine.name = text_of(document, "name");
  machine.description = text_of(document, "description");
  machine.sources = texts_of(document, "sources");
  auto assumed = read_assumed(document);
  if (!assumed) return std::unexpected(assumed.error());
  machine.assumed = std::move(*assumed);
  machine.cores = count_or(document, "node.cores", 1);
  if (const Entry* size = to_blame(document, {"node.cores", "nodes", "topology.kind"}))
    machine.size_line = size->value.line;
  machine.memory = size_or(document, "node.memory", 0);
  machine.compute_ratio = ratio_or(document, "node.compute_ratio", 1);
  machine.slowdown = factors_of(document, "node.slowdown");
  for (const char* key : {"node.slowdown", "network.card.slowdown"}) {
    if (auto checked = check_slowdown(document, key); !checked)
      return std::unexpected(checked.error());
  }
  machine.copy_bandwidth = bandwidth_or(document, "node.copy_bandwidth", 0);
  machine.reduction_bandwidth = bandwidth_or(document, "node.reduction_bandwidth", 0);
  machine.packing_time = duration_or(document, "node.packing_time", SimTime::zero());
  machine.spawn_time = duration_or(document, "node.spawn_time", SimTime::zero());

  auto network = read_network(document, "network");
  if (!network) return std::unexpected(network.error());
  machine.network = std::move(*network);
  machine.collectives =
      choice_or(document, "network.collectives", kCollectiveRulesWords, CollectiveRules::kProgram);
  auto tables = read_collectives(document);
  if (!tables) return std::unexpected(tables.error());
  machine.collective_tables = std::move(*tables);

  auto sharing = read_sharing(document, machine.cores);
  if (!sharing) return std::unexpected(sharing.error());
  machine.sharing = std::move(*sharing);

  auto intranode = read_intranode(document, machine);
  if (!intranode) return std::unexpected(intranode.error());
  machine.intranode = std::move(*intranode);

  auto topology = read_topology(document);
  if (!topology) return std::unexpected(topology.error());
  machine.topology = std::move(*topology);
  if (assumes_global_links(document, machine)) machine.assumed.push_back("topology.global_links");
  const auto nodes = read_nodes(document, machine.topology);
  if (!nodes) return std::unexpected(nodes.error());
  machine.nodes = *nodes;
  if (machine.sharing.mode == SharingMode::kLinks) {
    if (auto checked = check_links(document, machine.topology, machine.nodes); !checked) {
      return std::unexpected(checked.error());
    }
  }
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
