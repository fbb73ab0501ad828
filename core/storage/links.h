// Messages between compute nodes and I/O nodes. A message leaves when its sender's interface is
// free (LogGP injection) and is there when the receiver's interface has taken it in after those
// that came before. In a node's own file system nothing takes any time here.
#pragma once

#include <vector>

#include "core/machine/storage.h"
#include "core/network/network.h"

namespace sesame::storage {

struct Flight {
  SimTime arrival;
  SimTime transfer;          // how long it takes the receiver's interface
  SimTime send_overhead;     // CPU time of the sender
  SimTime receive_overhead;  // CPU time of the receiver
};

class Links {
 public:
  Links(const machine::StorageParameters& parameters, const network::Network& network);

  // Leaves at `ready` plus the send overhead or later; `interface_free` is the sender's.
  Flight to_ionode(SimTime ready, int node, uint32_t ionode, uint64_t bytes,
                   SimTime& interface_free) const {
    return is_local_ ? Flight{ready, {}, {}, {}}
                     : fly(ready, interface_free,
                           network_->cost_between_nodes(node, attached_[ionode], 1, bytes));
  }
  Flight from_ionode(SimTime ready, uint32_t ionode, int node, uint64_t bytes) {
    return is_local_ ? Flight{ready, {}, {}, {}}
                     : fly(ready, ionode_out_[ionode],
                           network_->cost_between_nodes(attached_[ionode], node, 1, bytes));
  }
  Flight between_cnodes(SimTime ready, int from, int to, uint64_t bytes) {
    return from == to ? Flight{ready, {}, {}, {}}
                      : fly(ready, node_out_[static_cast<size_t>(from)],
                            network_->cost_between_nodes(from, to, 0, bytes));
  }

  // A message has arrived now: when it is taken in.
  SimTime take_in_at_ionode(SimTime now, uint32_t ionode, SimTime transfer) {
    return take_in(now, ionode_in_[ionode], transfer);
  }
  SimTime take_in_at_node(SimTime now, int node, SimTime transfer) {
    return is_local_ ? now : take_in(now, node_in_[static_cast<size_t>(node)], transfer);
  }

  // The interface of a node that sends on its own account, not for one of its ranks.
  SimTime& node_interface(int node) { return node_out_[is_local_ ? 0 : static_cast<size_t>(node)]; }
  bool is_local() const { return is_local_; }

 private:
  static Flight fly(SimTime ready, SimTime& interface_free, const network::MessageCost& cost);
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
