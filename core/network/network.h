// How long a message takes: the LogGP model with message-size segments, eager and rendezvous
// protocols and the distance in the topology. docs/models/network.md has the equations and their
// sources.
//
// Use: create() from a machine, then cost() for each message; the caller keeps the time at which
// each interface is free and applies the equations below. Sizes are bytes. Wrong machines are
// detected when they are read. Ranks that do not fit are an Error of create(). cost() does not
// allocate and may be called from any thread, but not while add_ranks() runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/network/distance.h"

namespace sesame::network {

// What one message costs. With t the time of the send call, p the time the receive is posted:
//   eager:       start = max(t + send_overhead, interface_free)
//   rendezvous:  start = max(max(t + send_overhead + control_latency, p) + control_latency,
//                            interface_free)
//   both:        interface_free = start + injection
//                arrival = start + latency + transfer
//                the receive completes at max(arrival, p) + receive_overhead
struct MessageCost {
  SimTime send_overhead;     // CPU time of the sender, with that of its copy
  SimTime injection;         // how long the sender's interface is busy
  SimTime latency;           // start of injection to arrival of a zero-byte message
  SimTime transfer;          // bytes / bandwidth less the copies, added to the arrival
  SimTime receive_overhead;  // CPU time of the receiver, with that of its copy
  SimTime control_latency;   // one way of a request-to-send or clear-to-send
  bool rendezvous = false;
};

class Network {
 public:
  // `placement` as in machine::place_ranks. Fails when the ranks do not fit the machine.
  static Result<Network> create(const machine::Machine& machine, int ranks,
                                const std::string& placement = "block");

  // Adds ranks, numbered after the existing ones, on these nodes of the machine.
  void add_ranks(const std::vector<int>& nodes);

  int ranks() const { return ranks_; }
  int node_of(int rank) const { return static_cast<int>(rank_nodes_[index(rank)]); }

  // Hops between the nodes of two ranks; 0 when they share a node.
  int hops(int from_rank, int to_rank) const {
    return distance_.hops(&rank_nodes_[index(from_rank)] + 1, &rank_nodes_[index(to_rank)] + 1);
  }

  // The cost of a message that the processors of both ranks handle.
  MessageCost cost(int from_rank, int to_rank, uint64_t bytes) const;
  // The cost of one whose bytes the cards move from memory to memory (RDMA): no processor copies
  // them, so all of bytes / bandwidth is transfer.
  MessageCost rdma_cost(int from_rank, int to_rank, uint64_t bytes) const;

  // No message between nodes, nor a control message of one, takes less time from the start of its
  // injection to its arrival.
  SimTime least_latency() const;

  // The time for a rank to copy `bytes` in its memory: at the machine's copy bandwidth, or as a
  // message inside a node if that is faster, since small blocks stay in caches. Zero if the machine
  // file has no copy bandwidth.
  SimTime copy_time(uint64_t bytes) const;

  // The time for a rank to combine two vectors of `bytes` each in a reduction, at the machine's
  // reduction bandwidth; zero if the machine file has none.
  SimTime reduction_time(uint64_t bytes) const;

  // The time for a rank to gather so many blocks, which it sends as one message, and to distribute
  // as many that it receives; zero if the machine file does not say it.
  SimTime packing_time(int blocks) const { return packing_time_ * blocks; }

  int nodes() const { return distance_.nodes(); }
  // The cost of a message between two nodes over `beyond` more hops than their distance: for I/O
  // nodes, which are attached to the switch of a compute node. No processor copies it.
  MessageCost cost_between_nodes(int from_node, int to_node, int beyond, uint64_t bytes) const;

 private:
  friend SimTime ping_pong(const machine::Machine& machine, uint64_t bytes, int hops);

  // A range of message sizes in which the cost is linear and the protocol the same.
  struct CostRange {
    uint64_t up_to;  // largest size, bytes
    double ps_per_byte;
    SimTime wire;  // segment latency less both overheads, at one hop
    bool rendezvous;
  };
  struct Rate {              // of what a processor does with bytes in its memory
    double ps_per_byte = 0;  // 0: takes no time
    [[no_unique_address]] Parameter key;

    SimTime time_of(uint64_t bytes) const;
  };
  struct Path {  // the parameters between nodes, or inside one
    std::vector<CostRange> ranges;
    SimTime send_overhead;
    SimTime receive_overhead;
    SimTime gap;
    SimTime hop_latency;
    SimTime control_wire;       // wire latency of a zero-byte message, at one hop
    double stream_ps_per_byte;  // of injections; 0: as the transfer
    Rate send_copy;             // of eager messages
    Rate receive_copy;
    [[no_unique_address]] Parameter bandwidth_key;
  };

  Network(const machine::Machine& machine, const std::vector<int>& nodes);
  size_t index(int rank) const { return static_cast<size_t>(rank) * rank_stride_; }
  static Path make_path(const machine::NetworkParameters& parameters);
  static const CostRange& range_of(const Path& path, uint64_t bytes);
  static MessageCost cost_without_copies(const Path& path, int hops, uint64_t bytes);
  static MessageCost cost_on(const Path& path, int hops, uint64_t bytes);
  static void charge_copies(const Path& path, uint64_t bytes, MessageCost& cost);

  int ranks_ = 0;
  uint32_t rank_stride_ = 1;
  std::vector<uint32_t> rank_nodes_;  // for each rank its node and that node's coordinates
  Distance distance_;
  Path between_;
  Path inside_;
  SimTime packing_time_;
  Rate copies_{.key = Parameter::of("node.copy_bandwidth")};
  Rate reductions_{.key = Parameter::of("node.reduction_bandwidth")};
};

// Half the round trip of a ping-pong whose receives are always posted: between nodes `hops` apart,
// inside a node for 0 hops.
SimTime ping_pong(const machine::Machine& machine, uint64_t bytes, int hops = 1);

}  // namespace sesame::network
