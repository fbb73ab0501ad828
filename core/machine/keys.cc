#include "core/machine/keys.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/machine/collective_rules.h"
#include "core/machine/machine.h"
#include "core/machine/storage_keys.h"

namespace sesame::machine {
namespace {

const Key kOwnKeys[] = {
    {"name", Kind::kText, true, "short name of the machine"},
    {"description", Kind::kText, false, "what machine it is, in a sentence"},
    {"sources", Kind::kTexts, false, "where the constants come from"},
    {"assumed", Kind::kTexts, false, "keys and tables of this file whose values have no source"},
    {"nodes", Kind::kCount, false, "number of nodes; a topology with a size of its own gives it"},

    {"node.cores", Kind::kCount, false, "ranks that a node takes"},
    {"node.compute_ratio", Kind::kRatio, false, "target compute time / host compute time"},
    {"node.slowdown", Kind::kFactors, false,
     "factors of computation time with 1, 2, 3 ... ranks on a node"},
    {"node.copy_bandwidth", Kind::kBandwidth, false,
     "of copies in memory inside a rank, in collectives"},
    {"node.reduction_bandwidth", Kind::kBandwidth, false,
     "of a rank that combines its vector with one that it received"},
    {"node.packing_time", Kind::kDuration, false,
     "to pack a block of a step of Bruck's Alltoall and to unpack another"},
    {"node.spawn_time", Kind::kDuration, false, "from MPI_Comm_spawn to the start of its ranks"},
    {"node.memory", Kind::kSize, false, "memory of a node"},
    {"node.network.latency", Kind::kDuration, false, "half ping-pong of zero bytes inside a node"},
    {"node.network.bandwidth", Kind::kBandwidth, false, "asymptotic bandwidth inside a node"},
    {"node.network.send_overhead", Kind::kDuration, false, "sender's CPU time, part of latency"},
    {"node.network.receive_overhead", Kind::kDuration, false,
     "receiver's CPU time, part of latency"},
    {"node.network.send_copy_bandwidth", Kind::kBandwidth, false,
     "at which a sender copies eager messages"},
    {"node.network.receive_copy_bandwidth", Kind::kBandwidth, false,
     "at which a receiver copies eager messages"},
    {"node.network.gap", Kind::kDuration, false, "least time between two injections"},
    {"node.network.total_bandwidth", Kind::kBandwidth, false,
     "of all messages inside a node together, unless sharing is none"},
    {"node.network.stream_bandwidth", Kind::kBandwidth, false,
     "of messages that a rank sends one after the other"},
    {"node.network.eager_limit", Kind::kSize, false, "messages above it use rendezvous"},
    {"node.network.segment.N.up_to", Kind::kSize, false, "largest message of the segment"},
    {"node.network.segment.N.latency", Kind::kDuration, false, "zero-byte intercept"},
    {"node.network.segment.N.bandwidth", Kind::kBandwidth, false, "inverse slope"},

    {"network.latency", Kind::kDuration, true,
     "half ping-pong of zero bytes between neighbouring nodes"},
    {"network.bandwidth", Kind::kBandwidth, true, "asymptotic bandwidth between nodes"},
    {"network.send_overhead", Kind::kDuration, false, "sender's CPU time, part of latency"},
    {"network.receive_overhead", Kind::kDuration, false, "receiver's CPU time, part of latency"},
    {"network.send_copy_bandwidth", Kind::kBandwidth, false,
     "at which a sender copies eager messages"},
    {"network.receive_copy_bandwidth", Kind::kBandwidth, false,
     "at which a receiver copies eager messages"},
    {"network.gap", Kind::kDuration, false, "least time between two injections"},
    {"network.stream_bandwidth", Kind::kBandwidth, false,
     "of messages that a rank sends one after the other"},
    {"network.hop_latency", Kind::kDuration, false, "added for every hop beyond the first"},
    {"network.eager_limit", Kind::kSize, false, "messages above it use rendezvous"},
    {"network.collectives", Kind::kChoice, false,
     "whose algorithms collectives use: those of the program's MPI, of MPICH or of Open MPI",
     kCollectiveRulesWords},
    {"network.sharing", Kind::kChoice, false,
     "what messages of different ranks share: nothing, cards, or cards and links", kSharingWords},
    {"network.card.number", Kind::kCount, false, "network cards of a node"},
    {"network.card.assignment", Kind::kChoice, false,
     "how ranks of a node share its cards: consecutive ranks one, or in turn",
     kCardAssignmentWords},
    {"network.card.bandwidth", Kind::kBandwidth, false, "of a card in each direction"},
    {"network.card.receive_bandwidth", Kind::kBandwidth, false, "where receiving has another"},
    {"network.card.pairs", Kind::kCounts, false, "ranks at a card for which message_rate is given"},
    {"network.card.message_rate", Kind::kFactors, false,
     "messages without data a second of a card in each direction, for each of pairs; the inverse "
     "adds to the time of the bytes"},
    {"network.card.receive_message_rate", Kind::kFactors, false, "where receiving has another"},
    {"network.card.slowdown", Kind::kFactors, false,
     "factors of a card's time per byte with 1, 2, 3 ... busy cores on the node"},
    {"network.link.bandwidth", Kind::kBandwidth, false, "of a link of the topology, one direction"},
    {"network.link.global_bandwidth", Kind::kBandwidth, false,
     "of a dragonfly's links between groups"},
    {"network.segment.N.up_to", Kind::kSize, false, "largest message of the segment"},
    {"network.segment.N.latency", Kind::kDuration, false, "zero-byte intercept"},
    {"network.segment.N.bandwidth", Kind::kBandwidth, false, "inverse slope"},

    {"collectives.hardware.latency", Kind::kDuration, false,
     "of a barrier or allreduce that the network does, from the last rank's entry on"},
    {"collectives.hardware.bandwidth", Kind::kBandwidth, false,
     "of the vector of an allreduce that the network does"},

    {"topology.kind", Kind::kTopology, true,
     "crossbar, mesh, torus, fat_tree, hyperx or dragonfly"},
    {"topology.dims", Kind::kCounts, false,
     "mesh, torus: nodes along each dimension; hyperx: routers"},
    {"topology.arity", Kind::kCounts, false,
     "fat_tree: children of a switch at each level, leaf level first"},
    {"topology.groups", Kind::kCount, false, "dragonfly: groups of routers"},
    {"topology.routers", Kind::kCount, false, "dragonfly: routers in a group"},
    {"topology.nodes_per_router", Kind::kCount, false, "hyperx, dragonfly: nodes at a router"},
    {"topology.uplinks", Kind::kCounts, false,
     "fat_tree: links up from a switch at each level but the top, leaf level first"},
    {"topology.global_links", Kind::kCount, false,
     "dragonfly: parallel links between each two groups"},
    {"topology.routing", Kind::kChoice, false, "how messages choose among routes", kRoutingWords},
};

// The keys of the rules of each collective: collectives.bcast.N.algorithm and its like.
void add_collective_keys(std::vector<Key>& keys) {
  for (size_t i = 0; i < kCollectives; ++i) {
    const std::string rule = std::string("collectives.") + kCollectiveNames[i] + ".N.";
    keys.push_back({rule + "algorithm", Kind::kChoice, false, "the algorithm of this rule",
                    algorithm_words(static_cast<Collective>(i))});
    keys.push_back({rule + "ranks_up_to", Kind::kCount, false, "most ranks of this rule"});
    keys.push_back({rule + "up_to", Kind::kSize, false, "most bytes of this rule"});
    keys.push_back({rule + "ranks", Kind::kChoice, false,
                    "which numbers of ranks this rule is for, below ranks_up_to",
                    kCollectiveRanksWords});
    keys.push_back({rule + "forms", Kind::kChoice, false,
                    "the forms of the collective that this rule is for", kCollectiveFormsWords});
  }
}

std::vector<Key> all_keys() {
  std::vector<Key> keys(std::begin(kOwnKeys), std::end(kOwnKeys));
  add_collective_keys(keys);
  for (const char* table : {"storage", "node.storage"}) {
    std::ranges::move(storage_keys(table), std::back_inserter(keys));
  }
  return keys;
}

// Whether the number of a segment or of a rule of a collective follows after this.
bool is_list(std::string_view prefix) {
  if (prefix.ends_with("segment.")) return true;
  constexpr std::string_view kCollectivesTable = "collectives.";
  if (!prefix.starts_with(kCollectivesTable) || !prefix.ends_with('.')) return false;
  prefix.remove_prefix(kCollectivesTable.size());
  return std::ranges::any_of(kCollectiveNames,
                             [&](const char* name) { return prefix == std::string(name) + '.'; });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

// Every key and every table, as patterns.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    const std::string& name = key.name;
    names.push_back(name);
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      names.push_back(name.substr(0, dot));
    }
  }
  return names;
}

}  // namespace

std::span<const Key> keys() {
  static const std::vector<Key> kKeys = all_keys();
  return kKeys;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    // Another number is part of an unknown name and stays visible.
    pattern += is_number(part) && is_list(pattern) ? "N" : part;
    if (dot == std::string_view::npos) return pattern;
    pattern += '.';
    name.remove_prefix(dot + 1);
  }
}

const Key* find_key(std::string_view name) {
  const std::string pattern = pattern_of(name);
  const auto it = std::ranges::find(keys(), pattern, &Key::name);
  return it == keys().end() ? nullptr : &*it;
}

bool is_table_name(std::string_view name) {
  const std::string prefix = pattern_of(name) + ".";
  return std::ranges::any_of(keys(), [&](const Key& key) { return key.name.starts_with(prefix); });
}

std::optional<std::string> nearest_name(std::string_view unknown) {
  const std::string pattern = pattern_of(unknown);
  std::optional<std::string> nearest;
  size_t least = std::numeric_limits<size_t>::max();
  for (const Key& key : keys()) {  // the right word in the wrong table
    const size_t distance = edit_distance(pattern, key.name);
    if (last_part(key.name) == last_part(pattern) && distance < least) {
      least = distance;
      nearest = key.name;
    }
  }
  if (nearest) return nearest;
  least = 1 + std::max<size_t>(2, last_part(pattern).size() / 3);
  for (const std::string& name : all_names()) {  // a wrong letter or two
    const size_t distance = edit_distance(pattern, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "text";
    case Kind::kTexts:
      return "texts";
    case Kind::kCount:
      return "count";
    case Kind::kCounts:
      return "counts";
    case Kind::kIndex:
      return "index";
    case Kind::kIndices:
      return "indices";
    case Kind::kShare:
      return "share";
    case Kind::kFlag:
      return "flag";
    case Kind::kChoice:
      return "choice";
    case Kind::kRatio:
      return "number";
    case Kind::kFactors:
      return "numbers";
    case Kind::kDuration:
      return "duration";
    case Kind::kSize:
      return "size";
    case Kind::kBandwidth:
      return "bandwidth";
    case Kind::kTopology:
      return "topology";
  }
  return "";
}

namespace {

const char* kind_phrase(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "text in quotes";
    case Kind::kTexts:
      return "a list of texts in quotes";
    case Kind::kCount:
      return "a whole number from 1 to 2147483647";
    case Kind::kCounts:
      return "a list of whole numbers above zero such as [16, 64]";
    case Kind::kIndex:
      return "a whole number from 0 to 2147483647";
    case Kind::kIndices:
      return "a list of whole numbers such as [0, 4]";
    case Kind::kShare:
      return "a number from 0 to 1";
    case Kind::kFlag:
      return "true or false";
    case Kind::kChoice:
      return "one of its words";
    case Kind::kRatio:
      return "a number above zero";
    case Kind::kFactors:
      return "a list of numbers from 1 on such as [1.0, 1.19]";
    case Kind::kDuration:
      return "a duration such as \"1.5 us\"";
    case Kind::kSize:
      return "a size such as \"64 KiB\"";
    case Kind::kBandwidth:
      return "a bandwidth such as \"28 MB/s\"";
    case Kind::kTopology:
      return "crossbar, mesh, torus, fat_tree, hyperx or dragonfly";
  }
  return "";
}

}  // namespace

std::string expectation(const Key& key) {
  if (key.words.empty()) return kind_phrase(key.kind);
  std::string words;
  for (size_t i = 0; i < key.words.size(); ++i) {
    if (i > 0) words += i + 1 == key.words.size() ? " or " : ", ";
    words += key.words[i];
  }
  return words;
}

std::vector<KeyInfo> machine_keys() {
  std::vector<KeyInfo> infos;
  for (const Key& key : keys()) {
    infos.push_back({key.name, kind_name(key.kind), key.meaning, key.required});
  }
  return infos;
}

}  // namespace sesame::machine
