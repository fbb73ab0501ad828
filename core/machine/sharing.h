// What messages of different ranks share: network cards of a node, links of the topology, the
// memory of a node. Plain data of a machine (docs/models/sharing.md). Bandwidths are bytes per
// second, rates messages per second.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/parameter.h"

namespace sesame::machine {

enum class SharingMode { kNone, kInterface, kLinks };

// Which card a node's n-th rank uses: consecutive ranks share one, or they take cards in turn.
enum class CardAssignment { kBlock, kCyclic };

enum class Routing { kMinimal, kDestination, kHashed, kValiant, kAdaptive };

// One direction of a card.
struct CardDirection {
  double bandwidth = 0;                 // 0: that of a message alone
  [[no_unique_address]] Parameter key;  // which the time of bytes is due to
  // Messages per second with CardParameters::pairs ranks at the card; empty: no limit.
  std::vector<double> message_rate;
};

struct CardParameters {
  uint32_t number = 1;  // of a node
  CardAssignment assignment = CardAssignment::kBlock;
  CardDirection send;
  CardDirection receive;
  std::vector<uint32_t> pairs;   // rising
  std::vector<double> slowdown;  // of bytes with 1, 2, … busy cores on the node; empty: none
};

struct LinkParameters {
  double bandwidth = 0;         // 0: network.bandwidth
  double global_bandwidth = 0;  // of a dragonfly's links between groups; 0: `bandwidth`
  [[no_unique_address]] Parameter key, global_key;
};

struct Sharing {
  SharingMode mode = SharingMode::kNone;
  CardParameters card;
  LinkParameters link;
  double memory_bandwidth = 0;  // of all copies inside a node together; 0: they share nothing
  [[no_unique_address]] Parameter memory_key;
};

}  // namespace sesame::machine
