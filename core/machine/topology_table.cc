#include "core/machine/topology_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/machine/keys.h"
#include "core/machine/links.h"
#include "core/machine/network_table.h"
#include "core/machine/settings.h"

namespace sesame::machine {
namespace {

// Keeps tables of nodes small; far more nodes than any machine has.
constexpr int64_t kMostNodes = 1 << 24;
constexpr double kMostLinks = 1 << 25;  // about 2 GiB

struct TopologyDescription {
  TopologyKind kind;
  const char* name;
  std::vector<const char*> keys;  // that belong to it and must be there
  std::vector<const char*> more;  // that may be there
  std::vector<Routing> routings;  // the first is the default
};

const TopologyDescription kTopologies[] = {
    {TopologyKind::kCrossbar, "crossbar", {}, {}, {Routing::kMinimal}},
    {TopologyKind::kMesh, "mesh", {"topology.dims"}, {}, {Routing::kMinimal}},
    {TopologyKind::kTorus, "torus", {"topology.dims"}, {}, {Routing::kMinimal}},
    {TopologyKind::kFatTree,
     "fat_tree",
     {"topology.arity"},
     {"topology.uplinks"},
     {Routing::kDestination, Routing::kHashed}},
    {TopologyKind::kHyperX,
     "hyperx",
     {"topology.dims", "topology.nodes_per_router"},
     {},
     {Routing::kMinimal, Routing::kValiant}},
    {TopologyKind::kDragonfly,
     "dragonfly",
     {"topology.groups", "topology.routers", "topology.nodes_per_router"},
     {"topology.global_links"},
     {Routing::kMinimal, Routing::kValiant, Routing::kAdaptive}},
};

Result<> check_keys(const Document& document, const TopologyDescription& description) {
  for (const Entry& entry : document.entries) {
    if (!entry.key.starts_with("topology.") || entry.key == "topology.kind") continue;
    if (entry.key == "topology.routing") continue;  // read_routing()
    const auto is_it = [&](const char* key) { return entry.key == key; };
    if (std::ranges::any_of(description.keys, is_it)) continue;
    if (std::ranges::any_of(description.more, is_it)) continue;
    std::string expected;
    for (const char* key : description.keys)
      expected += (expected.empty() ? "" : " and ") + std::string(key);
    return document.wrong(entry,
                          entry.key + " has no meaning for a " + description.name + ", expected " +
                              (expected.empty() ? "topology.kind alone" : expected) + ", got " +
                              entry.value.shown(),
                          "an override \"" + entry.key + "=\" removes the key");
  }
  for (const char* key : description.keys) {
    if (document.find(key) == nullptr) return missing_key(document, key);
  }
  return {};
}

Result<Routing> read_routing(const Document& document, const TopologyDescription& description) {
  const Entry* entry = document.find("topology.routing");
  if (entry == nullptr) return description.routings.front();
  const Routing routing = choice_or(document, entry->key, kRoutingWords, Routing::kMinimal);
  const std::vector<Routing>& routings = description.routings;
  if (std::ranges::find(routings, routing) != routings.end()) return routing;
  std::string words;
  for (const Routing known : description.routings) {
    words += (words.empty() ? "" : " or ") + std::string(kRoutingWords[static_cast<int>(known)]);
  }
  return document.wrong(*entry, std::string("a ") + description.name +
                                    " has no such routes, expected topology.routing " + words +
                                    ", got " + entry->value.shown());
}

// Full bisection unless the file says otherwise: as many links up as there are nodes or switches
// below.
Result<> read_uplinks(const Document& document, Topology& topology) {
  if (topology.kind != TopologyKind::kFatTree) return {};
  topology.uplinks = counts_of(document, "topology.uplinks");
  if (topology.uplinks.empty()) {
    topology.uplinks.assign(topology.arity.begin(), topology.arity.end() - 1);
  }
  const size_t expected = topology.arity.size() - 1;
  if (topology.uplinks.size() == expected) return {};
  return document.wrong(*to_blame(document, {"topology.uplinks", "topology.arity"}),
                        "topology.uplinks has a number for each level of topology.arity but the "
                        "top, expected " +
                            std::to_string(expected) + ", got " +
                            std::to_string(topology.uplinks.size()));
}

int64_t product(const std::vector<uint32_t>& factors) {
  int64_t result = 1;
  for (const uint32_t factor : factors) result = std::min(result * factor, 4 * kMostNodes);
  return result;
}

// How many nodes the topology has, or can hold; 0 for a crossbar, which holds any number.
int64_t size_of(const Topology& topology) {
  switch (topology.kind) {
    case TopologyKind::kCrossbar:
      return 0;
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      return product(topology.dims);
    case TopologyKind::kFatTree:
      return product(topology.arity);
    case TopologyKind::kHyperX:
      return std::min(product(topology.dims) * topology.nodes_per_router, 4 * kMostNodes);
    case TopologyKind::kDragonfly:
      return product({topology.groups, topology.routers, topology.nodes_per_router});
  }
  return 0;
}

const TopologyDescription& description_of(TopologyKind kind) {
  return *std::ranges::find(kTopologies, kind, &TopologyDescription::kind);
}

// The Error when `nodes` and the topology disagree: at the override if one of the keys comes from
// one, else at `nodes`.
std::unexpected<Error> disagreement(const Document& document, const Topology& topology,
                                    int64_t size, bool at_most) {
  const Entry* nodes = document.find("nodes");
  const Entry* blamed = nodes;
  for (const char* key : description_of(topology.kind).keys) {
    const Entry* entry = document.find(key);
    if (blamed->override.empty() && !entry->override.empty()) blamed = entry;
  }
  return document.wrong(*blamed,
                        std::string("nodes and topology disagree, expected ") +
                            (at_most ? "at most " : "") + std::to_string(size) +
                            " nodes for this " + description_of(topology.kind).name + ", got " +
                            nodes->value.text,
                        at_most ? "" : "leave nodes out, or set topology.dims to match");
}

}  // namespace

std::string_view topology_name(TopologyKind kind) { return description_of(kind).name; }

Result<Topology> read_topology(const Document& document) {
  const Entry& kind = *document.find("topology.kind");
  const auto* description = std::ranges::find_if(
      kTopologies, [&](const TopologyDescription& known) { return kind.value.text == known.name; });
  if (description == std::end(kTopologies)) {
    return document.wrong(kind, std::string("unknown topology.kind, expected ") +
                                    expectation(*find_key("topology.kind")) + ", got " +
                                    kind.value.shown());
  }
  if (auto checked = check_keys(document, *description); !checked) {
    return std::unexpected(checked.error());
  }
  Topology topology;
  topology.kind = description->kind;
  topology.dims = counts_of(document, "topology.dims");
  topology.arity = counts_of(document, "topology.arity");
  topology.groups = static_cast<uint32_t>(count_or(document, "topology.groups", 0));
  topology.routers = static_cast<uint32_t>(count_or(document, "topology.routers", 0));
  topology.nodes_per_router =
      static_cast<uint32_t>(count_or(document, "topology.nodes_per_router", 0));
  topology.global_links = static_cast<uint32_t>(count_or(document, "topology.global_links", 1));
  const auto routing = read_routing(document, *description);
  if (!routing) return std::unexpected(routing.error());
  topology.routing = *routing;
  if (auto read = read_uplinks(document, topology); !read) return std::unexpected(read.error());
  return topology;
}

Result<int> read_nodes(const Document& document, const Topology& topology) {
  const Entry* given = document.find("nodes");
  const int64_t size = size_of(topology);
  if (given == nullptr && size == 0) return missing_key(document, "nodes");
  const int64_t nodes = given == nullptr ? size : given->value.integer;
  if (nodes > kMostNodes) {
    const Entry& place =
        given != nullptr ? *given : *document.find(*description_of(topology.kind).keys.begin());
    return document.wrong(place, "too many nodes, expected at most " + std::to_string(kMostNodes) +
                                     ", got " + place.value.shown());
  }
  const bool exact = topology.kind == TopologyKind::kMesh || topology.kind == TopologyKind::kTorus;
  if (size != 0 && (exact ? nodes != size : nodes > size)) {
    return disagreement(document, topology, size, !exact);
  }
  return static_cast<int>(nodes);
}

Result<> check_links(const Document& document, const Topology& topology, int nodes) {
  const double links = count_links(topology, nodes);
  if (links <= kMostLinks) return {};
  return document.wrong(*document.find("network.sharing"),
                        "the topology has more links than can be simulated, expected at most " +
                            std::to_string(static_cast<int64_t>(kMostLinks)),
                        "set network.sharing to interface, or make the topology smaller");
}

}  // namespace sesame::machine
