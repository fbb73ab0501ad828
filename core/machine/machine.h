// The target machine as plain data, and its reader: nodes, cores, network constants, topology.
// Times are SimTime, sizes bytes, bandwidths bytes per second. A Machine from read_machine is
// valid as a whole; wrong input is an Error that names the file and line, or the override.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/collective_rules.h"
#include "core/machine/sharing.h"
#include "core/machine/storage.h"

namespace sesame::machine {

// For messages of at most `up_to` bytes (and more than the segment before holds) the half round
// trip of a ping-pong is latency + bytes / bandwidth.
struct Segment {
  uint64_t up_to = std::numeric_limits<uint64_t>::max();
  SimTime latency;
  double bandwidth = 0;
};

struct NetworkParameters {
  SimTime latency;           // half ping-pong of zero bytes between neighbours, end to end
  double bandwidth = 0;      // asymptotic
  SimTime send_overhead;     // CPU time of the sender, part of the latency
  SimTime receive_overhead;  // CPU time of the receiver, part of the latency
  // At which a processor copies an eager message, out and in; 0: it copies none.
  double send_copy_bandwidth = 0;
  double receive_copy_bandwidth = 0;
  SimTime gap;                  // least time between two injections
  double stream_bandwidth = 0;  // of messages one after the other; 0: as that of one message
  SimTime hop_latency;          // added for every hop beyond the first
  uint64_t eager_limit = std::numeric_limits<uint64_t>::max();  // larger: rendezvous
  std::vector<Segment> segments;  // rising up_to; never empty; the last holds every size
  // Which the time of bytes is due to.
  [[no_unique_address]] Parameter bandwidth_key, send_copy_key, receive_copy_key;
};

enum class TopologyKind { kCrossbar, kMesh, kTorus, kFatTree, kHyperX, kDragonfly };

// Whose algorithms collectives use: those of the MPI that the program is linked to, or of one.
enum class CollectiveRules { kProgram, kMpich, kOpenMpi };

// network/distance.h says how nodes are numbered and where a dragonfly has its global links.
struct Topology {
  TopologyKind kind = TopologyKind::kCrossbar;
  // Mesh, torus: nodes along each dimension; HyperX: routers; the last varies fastest.
  std::vector<uint32_t> dims;
  std::vector<uint32_t> arity;          // fat tree: children of a switch, from the leaf level up
  uint32_t groups = 0;                  // dragonfly
  uint32_t routers = 0;                 // dragonfly: per group
  uint32_t nodes_per_router = 0;        // HyperX, dragonfly
  std::vector<uint32_t> uplinks;        // fat tree: of a switch at each level but the top
  uint32_t global_links = 1;            // dragonfly: parallel ones between each two groups
  Routing routing = Routing::kMinimal;  // fat tree: kDestination or kHashed
};

struct Machine {
  std::string name;
  std::string description;
  std::string path;                  // the file it was read from
  std::vector<std::string> sources;  // where the constants come from
  // Keys (and tables) whose values have no source; no overrides. What is simulated without a value
  // is among them.
  std::vector<std::string> assumed;
  int size_line = 0;  // of the file, or 0: where it says how many ranks there may be
  int nodes = 0;
  int cores = 1;                 // per node: how many ranks a node takes
  uint64_t memory = 0;           // of a node, in bytes; 0: unknown
  double compute_ratio = 1;      // target compute time / measured host compute time
  std::vector<double> slowdown;  // of computation with 1, 2, … ranks on the node; empty: none
  double copy_bandwidth = 0;     // of a rank that copies in memory, bytes/s; 0: takes no time
  // Of a rank that combines two vectors, bytes of one of them/s; 0: takes no time.
  double reduction_bandwidth = 0;
  SimTime packing_time;  // of a block that a step of Bruck's Alltoall sends, and of one it receives
  SimTime spawn_time;    // MPI_Comm_spawn: from the call to the first instruction of its ranks
  Topology topology;
  CollectiveRules collectives = CollectiveRules::kProgram;
  Sharing sharing;
  CollectiveTables collective_tables;             // choose before `collectives` does
  NetworkParameters network;                      // between nodes
  NetworkParameters intranode;                    // inside a node, and from a rank to itself
  std::optional<StorageParameters> storage;       // the parallel file system
  std::optional<StorageParameters> node_storage;  // the local file system of each node

  int64_t capacity() const { return int64_t{nodes} * cores; }  // ranks

  // The factor for computation on a node with `ranks` ranks, at least 1. Beyond the table it is the
  // last factor.
  double slowdown_of(int ranks) const {
    if (slowdown.empty()) return 1;
    return slowdown[std::min(static_cast<size_t>(ranks), slowdown.size()) - 1];
  }
};

// An override is "dotted.key=value": "network.latency=1us", "nodes=64", "topology.dims=[8,8]". It
// replaces or adds the key before anything is checked.
Result<Machine> read_machine(const std::string& path, std::span<const std::string> overrides = {});

// The same from text; `path` serves messages only.
Result<Machine> parse_machine(std::string_view text, const std::string& path,
                              std::span<const std::string> overrides = {});

struct KeyInfo {
  std::string key;      // dotted, as in an override; a segment's keys are "network.segment.N.key"
  std::string kind;     // "duration", "bandwidth", "size", "count", "counts", "number", …
  std::string meaning;  // one phrase
  bool required = false;
};

// Every key that a machine file may hold, in the order of the documentation.
std::vector<KeyInfo> machine_keys();

// As in the file: "fat_tree", "two-phase".
std::string_view topology_name(TopologyKind kind);
const char* word_of(SharingMode mode);
const char* word_of(CardAssignment assignment);
const char* word_of(Routing routing);
const char* word_of(StorageModel detail);
const char* word_of(CachePolicy policy);
const char* word_of(DeviceKind kind);
const char* word_of(RaidLevel level);
const char* word_of(CollectiveStrategy strategy);

}  // namespace sesame::machine
