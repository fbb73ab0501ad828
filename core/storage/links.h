// Messages between compute nodes and I/O nodes. A message leaves when its sender's interface is
// free (LogGP injection), which for a rank is its own and then the card that all ranks of its node
// share, and is there when the receiver's interface has taken it in after those that came before.
// In a node's own file system nothing takes any time here.
#pragma once

#include <vector>

#include "core/machine/storage.h"
#include "core/network/network.h"
#include "core/storage/access.h"

namespace sesame::storage {

struct Flight {
  SimTime arrival;
  SimTime transfer;          // how long it takes the receiver's interface
  SimTime send_overhead;     // CPU time of the sender
  SimTime receive_overhead;  // CPU time of the receiver
};

struct Departure {
  SimTime at;             // when the message may leave, if the sender's interface is free
  SimTime send_overhead;  // CPU time of the sender
};

class Links {
 public:
  Links(const machine::StorageParameters& parameters, const network::Network& network);

  // A message from a compute node to an I/O node that is ready.
  Departure departure(SimTime ready, int node, uint32_t ionode, uint64_t bytes) const {
    if (is_local_) return {ready, {}};
    const auto cost = network_->cost_between_nodes(node, attached_[ionode], 1, bytes);
    return {may_start(ready, cost), cost.send_overhead};
  }
  // The same when simulated time has come to its departure: messages leave in this order. A client
  // without an interface of its own is the node itself, its cache.
  Flight leave(SimTime now, const Client& client, uint32_t ionode, uint64_t bytes) {
    if (is_local_) return {now, {}, {}, {}};
    SimTime& card = node_out_[static_cast<size_t>(client.node)];
    return fly(now, client.interface_free != nullptr ? *client.interface_free : card, card,
               network_->cost_between_nodes(client.node, attached_[ionode], 1, bytes));
  }
  // What an I/O node asks a compute node for: interface and card are reserved ahead.
  Flight answer(SimTime ready, const Client& client, uint32_t ionode, uint64_t bytes) {
    return leave(departure(ready, client.node, ionode, bytes).at, client, ionode, bytes);
  }
  Flight from_ionode(SimTime ready, uint32_t ionode, int node, uint64_t bytes) {
    if (is_local_) return {ready, {}, {}, {}};
    SimTime& card = ionode_out_[ionode];
    const auto cost = network_->cost_between_nodes(attached_[ionode], node, 1, bytes);
    return fly(may_start(ready, cost), card, card, cost);
  }
  Flight between_cnodes(SimTime ready, int from, int to, uint64_t bytes) {
    if (from == to) return {ready, {}, {}, {}};
    SimTime& card = node_out_[static_cast<size_t>(from)];
    const auto cost = network_->cost_between_nodes(from, to, 0, bytes);
    return fly(may_start(ready, cost), card, card, cost);
  }

  // A message has arrived now: when it is taken in.
  SimTime take_in_at_ionode(SimTime now, uint32_t ionode, SimTime transfer) {
    return take_in(now, ionode_in_[ionode], transfer);
  }
  SimTime take_in_at_node(SimTime now, int node, SimTime transfer) {
    return is_local_ ? now : take_in(now, node_in_[static_cast<size_t>(node)], transfer);
  }

  bool is_local() const { return is_local_; }

 private:
  static SimTime may_start(SimTime ready, const network::MessageCost& cost);
  static Flight fly(SimTime may_start, SimTime& interface_free, SimTime& card_free,
                    const network::MessageCost& cost);
  static SimTime take_in(SimTime now, SimTime& free, SimTime transfer) {
    return free = later(now, free + transfer);
  }

  const network::Network* network_;
  bool is_local_;
  std::vector<int> attached_;  // by I/O node
  std::vector<SimTime> ionode_out_;
  std::vector<SimTime> ionode_in_;
  std::vector<SimTime> node_out_;
  std::vector<SimTime> node_in_;
};

}  // namespace sesame::storage
