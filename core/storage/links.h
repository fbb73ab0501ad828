// Links: messages between compute nodes and I/O nodes (LogGP). A message leaves when its sender's
// interface is free: for a rank that is the rank's own, then the network card, which all ranks of
// the node share; with other messages, too, if the machine says so (network/traffic.h). It is
// delivered when the receiver's interface has taken in all messages that arrived before. In a
// node-local file system all times are zero.
//
// Two steps for each message: a send_…() function sends it and schedules an event for its arrival;
// when that fires, receive_at_…() gives the delivery. exchange() does this for a message and its
// reply. All are called by events, in the order of simulated time. Events that are given must live
// until they fire.
#pragma once

#include <vector>

#include "core/machine/storage.h"
#include "core/network/network.h"
#include "core/network/traffic.h"
#include "core/pdes/event_queue.h"
#include "core/storage/access.h"

namespace sesame::storage {

// What a message costs its sender and its receiver.
struct MessageTimes {
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
  // `traffic`: what messages share with those of ranks; null: nothing. All must outlive it.
  Links(const machine::StorageParameters& parameters, const network::Network& network,
        network::Traffic* traffic, pdes::EventQueue& events);

  // When a message from a compute node to an I/O node can leave that is complete at `ready`. Does
  // not occupy interfaces.
  Departure departure(SimTime ready, int node, uint32_t ionode, uint64_t bytes) const;
  // Sends that message. Call it at simulated time Departure::at, so that messages leave in the
  // order of time. Without a rank's interface the node itself (its cache) is the sender.
  MessageTimes send_to_ionode(SimTime now, const Client& client, uint32_t ionode, uint64_t bytes,
                              pdes::ConditionalEvent& arrival);
  // Send a message of an I/O node, or between the caches of two compute nodes, that is complete at
  // `ready`. Without a rank's interface the receiver is the node's cache. Without an event nothing
  // waits for the message.
  MessageTimes send_from_ionode(SimTime ready, uint32_t ionode, const Client& client,
                                uint64_t bytes, pdes::ConditionalEvent* arrival);
  MessageTimes send_between_cnodes(SimTime ready, int from, int to, uint64_t bytes,
                                   pdes::ConditionalEvent& arrival);
  // Sends a message of an I/O node to which the client replies at once. `completion` is done when
  // the I/O node has the reply. Returns the time for both messages of the I/O node's CPU, which the
  // caller accounts for.
  SimTime exchange(SimTime now, uint32_t ionode, const Client& client, uint64_t bytes,
                   uint64_t reply_bytes, Completion& completion);

  // A message arrives now. Returns its delivery.
  SimTime receive_at_ionode(SimTime now, uint32_t ionode, SimTime transfer) {
    return receive(now, ionode_in_[ionode], transfer);
  }
  SimTime receive_at_node(SimTime now, int node, SimTime transfer) {
    if (is_local_ || traffic_ != nullptr) return now;  // a card has taken it in on its way
    return receive(now, node_in_[static_cast<size_t>(node)], transfer);
  }

  bool is_local() const { return is_local_; }
  pdes::EventQueue& events() { return events_; }

 private:
  static SimTime earliest_start(SimTime ready, const network::MessageCost& cost);
  // The card that messages share with those of ranks; null if they share none.
  network::Card* card_of(const Client& client) const;
  void send_from_node(SimTime earliest, const Client& client, network::Card* to,
                      const network::MessageCost& cost, uint64_t bytes,
                      pdes::ConditionalEvent& arrival);
  void start(const network::FileMessage& message, pdes::ConditionalEvent* arrival);
  static SimTime receive(SimTime now, SimTime& interface_free, SimTime transfer) {
    return interface_free = later(now, interface_free + transfer);
  }

  const network::Network& network_;
  network::Traffic* traffic_;
  pdes::EventQueue& events_;
  bool is_local_;
  std::vector<int> attached_;  // by I/O node
  // When each interface is free, by direction; those of nodes only if messages share no cards.
  std::vector<SimTime> ionode_out_;
  std::vector<SimTime> ionode_in_;
  std::vector<SimTime> node_out_;
  std::vector<SimTime> node_in_;
};

}  // namespace sesame::storage
