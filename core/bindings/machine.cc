// Machine models in Python: read and check a machine file, list its keys, tabulate its ping-pong.
// Values cross as plain dicts in SI numbers (seconds, bytes, bytes per second).
#include "core/machine/machine.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>

#include "core/bindings/unwrap.h"
#include "core/network/distance.h"
#include "core/network/network.h"

namespace nb = nanobind;

namespace sesame::bindings {
namespace {

using Overrides = std::vector<std::string>;

// Divides, because 40 us must become 4e-05 exactly as written.
double seconds(SimTime time) { return static_cast<double>(time.ps()) / 1e12; }

// A size that holds every message is None in Python.
nb::object limit_or_none(uint64_t bytes) {
  if (bytes == std::numeric_limits<uint64_t>::max()) return nb::none();
  return nb::int_(bytes);
}

nb::dict network_dict(const machine::NetworkParameters& parameters) {
  nb::list segments;
  for (const machine::Segment& segment : parameters.segments) {
    nb::dict entry;
    entry["up_to_bytes"] = limit_or_none(segment.up_to);
    entry["latency_s"] = seconds(segment.latency);
    entry["bandwidth_bytes_per_s"] = segment.bandwidth;
    segments.append(entry);
  }
  nb::dict dict;
  dict["latency_s"] = seconds(parameters.latency);
  dict["bandwidth_bytes_per_s"] = parameters.bandwidth;
  dict["send_overhead_s"] = seconds(parameters.send_overhead);
  dict["receive_overhead_s"] = seconds(parameters.receive_overhead);
  dict["send_copy_bandwidth_bytes_per_s"] = parameters.send_copy_bandwidth;  // 0: no copy
  dict["receive_copy_bandwidth_bytes_per_s"] = parameters.receive_copy_bandwidth;
  dict["gap_s"] = seconds(parameters.gap);
  dict["stream_bandwidth_bytes_per_s"] = parameters.stream_bandwidth;
  dict["hop_latency_s"] = seconds(parameters.hop_latency);
  dict["eager_limit_bytes"] = limit_or_none(parameters.eager_limit);
  dict["segments"] = segments;
  return dict;
}

// The keys of the topology's own kind, and what follows from them.
nb::dict topology_dict(const machine::Machine& machine) {
  const machine::Topology& topology = machine.topology;
  const network::Distance distance(topology, machine.nodes);
  nb::dict dict;
  dict["kind"] = std::string(machine::topology_name(topology.kind));
  if (!topology.dims.empty()) dict["dims"] = topology.dims;
  if (!topology.arity.empty()) dict["arity"] = topology.arity;
  if (topology.groups > 0) {
    dict["groups"] = topology.groups;
    dict["routers"] = topology.routers;
  }
  if (topology.nodes_per_router > 0) dict["nodes_per_router"] = topology.nodes_per_router;
  if (!topology.uplinks.empty()) dict["uplinks"] = topology.uplinks;
  if (topology.global_links > 1) dict["global_links"] = topology.global_links;
  dict["diameter_hops"] = distance.diameter();
  dict["mean_hops"] = distance.mean_hops();
  return dict;
}

// A summary of a file system; None when the machine has none.
nb::object storage_or_none(const std::optional<machine::StorageParameters>& storage) {
  if (!storage) return nb::none();
  nb::dict dict;
  dict["mounts"] = storage->mounts;
  dict["detail"] = machine::word_of(storage->detail);
  dict["ionodes"] = storage->ionodes;
  dict["stripe_bytes"] = storage->stripe;
  dict["block_bytes"] = storage->block;
  dict["capacity_bytes"] = storage->capacity;
  dict["cnode_cache_bytes"] = storage->cnode_cache.size;
  dict["ionode_cache_bytes"] = storage->ionode_cache.size;
  dict["policy"] = machine::word_of(storage->policy);
  dict["device"] = machine::word_of(storage->device.kind);
  dict["raid"] = machine::word_of(storage->device.raid);
  dict["members"] = storage->device.members;
  dict["collective"] = machine::word_of(storage->collective.strategy);
  return dict;
}

nb::dict card_dict(const machine::CardDirection& direction) {
  nb::dict dict;
  dict["bandwidth_bytes_per_s"] = direction.bandwidth;  // 0: that of a message alone
  dict["message_rate_per_s"] = direction.message_rate;
  return dict;
}

nb::dict sharing_dict(const machine::Machine& machine) {
  const machine::Sharing& sharing = machine.sharing;
  nb::dict dict;
  dict["mode"] = machine::word_of(sharing.mode);
  dict["cards"] = sharing.card.number;
  dict["assignment"] = machine::word_of(sharing.card.assignment);
  dict["send"] = card_dict(sharing.card.send);
  dict["receive"] = card_dict(sharing.card.receive);
  dict["pairs"] = sharing.card.pairs;
  dict["card_slowdown"] = sharing.card.slowdown;
  dict["link_bandwidth_bytes_per_s"] = sharing.link.bandwidth;
  dict["global_bandwidth_bytes_per_s"] = sharing.link.global_bandwidth;
  dict["memory_bandwidth_bytes_per_s"] = sharing.memory_bandwidth;
  dict["routing"] = machine::word_of(machine.topology.routing);
  return dict;
}

nb::dict machine_dict(const std::string& path, const Overrides& overrides) {
  const machine::Machine machine = unwrap(machine::read_machine(path, overrides));
  nb::dict dict;
  dict["name"] = machine.name;
  dict["description"] = machine.description;
  dict["path"] = machine.path;
  dict["sources"] = machine.sources;
  dict["assumed"] = machine.assumed;
  dict["nodes"] = machine.nodes;
  dict["cores"] = machine.cores;
  dict["ranks"] = machine.capacity();
  dict["compute_ratio"] = machine.compute_ratio;
  dict["slowdown"] = machine.slowdown;
  dict["copy_bandwidth_bytes_per_s"] = machine.copy_bandwidth;
  dict["reduction_bandwidth_bytes_per_s"] = machine.reduction_bandwidth;
  dict["packing_time_s"] = seconds(machine.packing_time);
  dict["topology"] = topology_dict(machine);
  dict["network"] = network_dict(machine.network);
  dict["node_network"] = network_dict(machine.intranode);
  dict["sharing"] = sharing_dict(machine);
  dict["storage"] = storage_or_none(machine.storage);
  dict["node_storage"] = storage_or_none(machine.node_storage);
  return dict;
}

nb::list key_list() {
  nb::list keys;
  for (const machine::KeyInfo& info : machine::machine_keys()) {
    nb::dict entry;
    entry["key"] = info.key;
    entry["kind"] = info.kind;
    entry["required"] = info.required;
    entry["meaning"] = info.meaning;
    keys.append(entry);
  }
  return keys;
}

nb::list ping_pong_table(const std::string& path, const Overrides& overrides,
                         const std::vector<uint64_t>& sizes, int hops) {
  const machine::Machine machine = unwrap(machine::read_machine(path, overrides));
  nb::list rows;
  for (const uint64_t bytes : sizes) {
    const double time_s = seconds(network::ping_pong(machine, bytes, hops));
    nb::dict row;
    row["size_bytes"] = bytes;
    row["time_s"] = time_s;
    row["bandwidth_bytes_per_s"] = time_s > 0 ? static_cast<double>(bytes) / time_s : 0.0;
    rows.append(row);
  }
  return rows;
}

}  // namespace

void register_machine(nb::module_& module) {
  module.def("read_machine", &machine_dict, nb::arg("path"), nb::arg("overrides") = Overrides{},
             "The machine of a file, after overrides \"key=value\", as a dict in SI units.");
  module.def("machine_keys", &key_list, "Every key of a machine file: key, kind, meaning.");
  module.def("ping_pong_table", &ping_pong_table, nb::arg("path"), nb::arg("overrides"),
             nb::arg("sizes"), nb::arg("hops") = 1,
             "Half round trips between nodes `hops` apart, inside a node for 0 hops.");
}

}  // namespace sesame::bindings
