// Links: the time of messages between compute nodes and I/O nodes (LogGP). A message leaves when
// its sender's interface is free: for a rank that is the rank's own, then the network card, which
// all ranks of the node share; with other messages, too, if the machine says so (network/cards.h).
// It is delivered when the receiver's interface has taken in all messages that arrived before. In a
// node-local file system all times are zero.
//
// Two steps for each message, called in the order of simulated time: a send_…() function when it
// leaves gives the arrival, and receive_at_…() at the arrival gives its delivery.
#pragma once

#include <vector>

#include "core/machine/storage.h"
#include "core/network/cards.h"
#include "core/network/network.h"
#include "core/storage/access.h"

namespace sesame::storage {

// The times of one message.
struct MessageTimes {
  SimTime arrival;
  SimTime transfer;          // how long it occupies the receiver's interface
  SimTime send_overhead;     // CPU time of the sender
  SimTime receive_overhead;  // CPU time of the receiver
};

struct Departure {
  SimTime at;             // when the message is ready for the sender's interface
  SimTime send_overhead;  // CPU time of the sender
};

class Links {
 public:
  Links(const machine::StorageParameters& parameters, const network::Network& network);

  // When a message from a compute node to an I/O node can leave that is complete at `ready`. Does
  // not occupy interfaces.
  Departure departure(SimTime ready, int node, uint32_t ionode, uint64_t bytes) const {
    if (is_local_) return {ready, {}};
    const auto cost = cost_of(node, attached_[ionode], 1, bytes);
    return {earliest_start(ready, cost), cost.send_overhead};
  }
  // Sends that message. Call it at simulated time Departure::at, so that messages leave in the
  // order of time. Without a rank's interface the node itself (its cache) is the sender.
  MessageTimes send_to_ionode(SimTime now, const Client& client, uint32_t ionode, uint64_t bytes) {
    if (is_local_) return {now, {}, {}, {}};
    auto cost = cost_of(client.node, attached_[ionode], 1, bytes);
    const SimTime at_ionode = cost.transfer;  // its interface is no card of a node
    cost.transfer = later(cost.transfer, send_time(bytes));
    MessageTimes message = transmit_from_node(now, client, cost, bytes);
    message.transfer = at_ionode;
    return message;
  }
  // Sends a reply of a compute node to an I/O node's control message. Unlike send_to_ionode() this
  // occupies interface and card in advance, from `ready` on.
  MessageTimes reply_to_ionode(SimTime ready, const Client& client, uint32_t ionode,
                               uint64_t bytes) {
    return send_to_ionode(departure(ready, client.node, ionode, bytes).at, client, ionode, bytes);
  }
  // Send a message of an I/O node, or between two compute nodes, that is complete at `ready`.
  MessageTimes send_from_ionode(SimTime ready, uint32_t ionode, int node, uint64_t bytes) {
    if (is_local_) return {ready, {}, {}, {}};
    SimTime& card = ionode_out_[ionode];
    auto cost = cost_of(attached_[ionode], node, 1, bytes);
    cost.transfer = later(cost.transfer, receive_time(bytes));
    return to_node(transmit(earliest_start(ready, cost), card, card, cost.transfer, cost), bytes);
  }
  MessageTimes send_between_cnodes(SimTime ready, int from, int to, uint64_t bytes) {
    if (from == to) return {ready, {}, {}, {}};
    auto cost = cost_of(from, to, 0, bytes);
    cost.transfer = later(cost.transfer, later(send_time(bytes), receive_time(bytes)));
    return to_node(transmit_from_node(earliest_start(ready, cost), {.node = from}, cost, bytes),
                   bytes);
  }

  // A message arrives now. Returns its delivery.
  SimTime receive_at_ionode(SimTime now, uint32_t ionode, SimTime transfer) {
    return receive(now, ionode_in_[ionode], transfer);
  }
  SimTime receive_at_node(SimTime now, int node, SimTime transfer) {
    if (is_local_) return now;
    network::Cards* cards = network_->cards();
    if (cards == nullptr) return receive(now, node_in_[static_cast<size_t>(node)], transfer);
    network::CardQueue& card = cards->of_node(node).receive;
    const SimTime delivery = receive(now, card.free, transfer);
    card.free += later(transfer, card.gap) - transfer;
    return delivery;
  }

  bool is_local() const { return is_local_; }

 private:
  network::MessageCost cost_of(int from, int to, int beyond, uint64_t bytes) const {
    return network_->cost_between_nodes(from, to, beyond, bytes);
  }
  // How long a message occupies a card that other messages share; zero if they share none.
  SimTime send_time(uint64_t bytes) const {
    const network::Cards* cards = network_->cards();
    return cards == nullptr ? SimTime::zero() : cards->send_time(bytes, 0);
  }
  SimTime receive_time(uint64_t bytes) const {
    const network::Cards* cards = network_->cards();
    return cards == nullptr ? SimTime::zero() : cards->receive_time(bytes, 0);
  }
  // The times of a message to a compute node.
  MessageTimes to_node(MessageTimes message, uint64_t bytes) const {
    if (network_->cards() != nullptr) message.transfer = receive_time(bytes);
    return message;
  }
  static SimTime earliest_start(SimTime ready, const network::MessageCost& cost);
  MessageTimes transmit_from_node(SimTime earliest_start, const Client& client,
                                  const network::MessageCost& cost, uint64_t bytes);
  // `occupied`: how long the card is busy with the message.
  static MessageTimes transmit(SimTime earliest_start, SimTime& interface_free, SimTime& card_free,
                               SimTime occupied, const network::MessageCost& cost);
  static SimTime receive(SimTime now, SimTime& interface_free, SimTime transfer) {
    return interface_free = later(now, interface_free + transfer);
  }

  const network::Network* network_;
  bool is_local_;
  std::vector<int> attached_;  // by I/O node
  // When each interface is free, by direction; those of nodes only if messages share no cards.
  std::vector<SimTime> ionode_out_;
  std::vector<SimTime> ionode_in_;
  std::vector<SimTime> node_out_;
  std::vector<SimTime> node_in_;
};

}  // namespace sesame::storage
