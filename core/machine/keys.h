// The keys of a machine file: one list for reading, messages, completion and documentation. A key
// that is not in it is an error of the file.
//
// To add a key: list it in keys.cc (keys of storage in storage_keys.cc), then read its value where
// the table is read (network_table.cc and others). Keys are dotted names as in an override;
// functions that take a name also accept "network.segment.3.latency". Everything is constant and
// lives for ever; any thread. Nothing fails: what is not found is null, empty or false.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/machine/key.h"

namespace sesame::machine {

std::span<const Key> keys();

// The words of network.collectives, in the order of CollectiveRules.
inline constexpr const char* kCollectiveRulesWords[] = {"program", "mpich", "openmpi"};

// Those of network.sharing, network.card.assignment and topology.routing, in the order of
// SharingMode, CardAssignment and Routing.
inline constexpr const char* kSharingWords[] = {"none", "interface", "links"};
inline constexpr const char* kCardAssignmentWords[] = {"block", "cyclic"};
inline constexpr const char* kRoutingWords[] = {"minimal", "destination", "hashed", "valiant",
                                                "adaptive"};

// "network.segment.3.latency" -> "network.segment.N.latency"; other names as they are.
std::string pattern_of(std::string_view name);

const Key* find_key(std::string_view name);
bool is_table_name(std::string_view name);  // a table that contains a key

// The key or table whose name is nearest to an unknown one, if any is near.
std::optional<std::string> nearest_name(std::string_view unknown);

const char* kind_name(Kind kind);         // "duration"
std::string expectation(const Key& key);  // "a duration such as \"1.5 us\"", "full or analytic"

}  // namespace sesame::machine
