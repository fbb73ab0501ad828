// The network cards of the nodes: when each is free to send and to receive, and how long it takes
// for a message. All ranks of a node share its cards, and so does file traffic
// (docs/models/sharing.md).
//
// Use: create it with the machine, add_ranks() in the order of their numbers, then take a card for
// each message in the order of simulated time. Sizes are bytes. Nothing here fails. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/network/server.h"

namespace sesame::network {

// How long a byte takes.
struct ByteTime {
  double ps = 0;
  [[no_unique_address]] Parameter key;  // which it is due to
};

// One direction of a card.
struct CardQueue : Server {
  SimTime gap;  // least time between two messages
};

struct Card {
  CardQueue send;
  CardQueue receive;
  uint32_t node = 0;
  uint32_t ranks = 0;  // that use it
};

class Cards {
 public:
  explicit Cards(const machine::Machine& machine);

  // Assigns cards to further ranks on these nodes. Those added together share the cards of their
  // node evenly.
  void add_ranks(const std::vector<int>& nodes);

  Card& of_rank(int rank) { return cards_[rank_cards_[static_cast<size_t>(rank)]]; }
  const Card& of_rank(int rank) const { return cards_[rank_cards_[static_cast<size_t>(rank)]]; }
  // The node's first card: for messages that no rank sends.
  Card& of_node(int node) { return cards_[static_cast<size_t>(node) * number_]; }
  Card& at(size_t index) { return cards_[index]; }  // of all()
  // number() for each node.
  const std::vector<Card>& all() const { return cards_; }
  uint32_t number() const { return number_; }

  // How long the bytes of a message occupy a card while `busy_cores` cores of its node compute.
  SimTime send_time(uint64_t bytes, int busy_cores) const {
    return time_of(bytes, send_, busy_cores);
  }
  SimTime receive_time(uint64_t bytes, int busy_cores) const {
    return time_of(bytes, receive_, busy_cores);
  }
  // Whether send_time() and receive_time() depend on `busy_cores`.
  bool depends_on_cores() const { return !parameters_.slowdown.empty(); }

 private:
  SimTime time_of(uint64_t bytes, const ByteTime& rate, int busy_cores) const;
  void set_gaps(Card& card) const;

  machine::CardParameters parameters_;
  uint32_t number_;
  ByteTime send_;
  ByteTime receive_;
  std::vector<Card> cards_;  // `number_` of each node
  std::vector<uint32_t> rank_cards_;
};

}  // namespace sesame::network
