#include "core/network/network.h"

#include <algorithm>

#include "core/machine/placement.h"
#include "core/network/transfer_time.h"

namespace sesame::network {
namespace {

using machine::Machine;
using machine::NetworkParameters;
using machine::Segment;

// Limits the time of very large messages on very slow links to 46 days, so that sums fit 64 bits.
constexpr double kLongestTransferPs = 4e18;

// 0 for a bandwidth that is not given.
double ps_per_byte(double bandwidth) { return bandwidth > 0 ? 1e12 / bandwidth : 0; }

}  // namespace

Network::Network(const Machine& machine, const std::vector<int>& nodes)
    : distance_(machine.topology, machine.nodes),
      between_(make_path(machine.network)),
      inside_(make_path(machine.intranode)),
      packing_time_(machine.packing_time) {
  copies_.ps_per_byte = ps_per_byte(machine.copy_bandwidth);
  reductions_.ps_per_byte = ps_per_byte(machine.reduction_bandwidth);
  rank_stride_ = 1 + distance_.stride();
  add_ranks(nodes);
}

void Network::add_ranks(const std::vector<int>& nodes) {
  rank_nodes_.resize(rank_nodes_.size() + nodes.size() * rank_stride_);
  for (const int node : nodes) {
    const int rank = ranks_++;
    rank_nodes_[index(rank)] = static_cast<uint32_t>(node);
    std::copy_n(distance_.coordinates(node), distance_.stride(), &rank_nodes_[index(rank)] + 1);
  }
}

Result<Network> Network::create(const Machine& machine, int ranks, const std::string& placement) {
  const auto nodes = machine::place_ranks(machine, ranks, placement);
  if (!nodes) return std::unexpected(nodes.error());
  return Network(machine, *nodes);
}

Network::Path Network::make_path(const NetworkParameters& parameters) {
  const SimTime overheads = parameters.send_overhead + parameters.receive_overhead;
  Path path{{},
            parameters.send_overhead,
            parameters.receive_overhead,
            parameters.gap,
            parameters.hop_latency,
            parameters.segments.front().latency - overheads,
            ps_per_byte(parameters.stream_bandwidth),
            {ps_per_byte(parameters.send_copy_bandwidth), parameters.send_copy_key},
            {ps_per_byte(parameters.receive_copy_bandwidth), parameters.receive_copy_key},
            parameters.bandwidth_key};
  uint64_t begin = 0;  // the smallest size of the next range
  for (const Segment& segment : parameters.segments) {
    CostRange range{segment.up_to, 1e12 / segment.bandwidth, segment.latency - overheads, true};
    const uint64_t eager_end = std::min(segment.up_to, parameters.eager_limit);
    if (eager_end >= begin) {
      CostRange eager = range;
      eager.up_to = eager_end;
      eager.rendezvous = false;
      path.ranges.push_back(eager);
    }
    if (segment.up_to > parameters.eager_limit) path.ranges.push_back(range);
    if (segment.up_to == std::numeric_limits<uint64_t>::max()) break;
    begin = segment.up_to + 1;
  }
  return path;
}

const Network::CostRange& Network::range_of(const Path& path, uint64_t bytes) {
  const CostRange* range = path.ranges.data();
  while (bytes > range->up_to) ++range;  // the last range has no limit
  return *range;
}

MessageCost Network::cost_without_copies(const Path& path, int hops, uint64_t bytes) {
  const CostRange& range = range_of(path, bytes);
  const SimTime transfer = transfer_time(bytes, range.ps_per_byte).due_to(path.bandwidth_key);
  const SimTime extra = path.hop_latency * (hops > 1 ? hops - 1 : 0);

  MessageCost cost;
  cost.send_overhead = path.send_overhead;
  cost.receive_overhead = path.receive_overhead;
  cost.transfer = transfer;
  const SimTime busy =
      path.stream_ps_per_byte > 0
          ? std::min(transfer,
                     transfer_time(bytes, path.stream_ps_per_byte).due_to(path.bandwidth_key))
          : transfer;
  cost.injection = later(path.gap, busy);
  cost.latency = range.wire + extra;
  cost.control_latency = path.control_wire + extra;
  if (range.rendezvous) {
    // Request, answer and data share the latency, so that the whole handshake fits in it.
    const SimTime third = cost.latency / 3;
    cost.control_latency = std::min(cost.control_latency, third);
    cost.latency -= cost.control_latency * 2;
    cost.rendezvous = true;
  }
  return cost;
}

MessageCost Network::cost_on(const Path& path, int hops, uint64_t bytes) {
  MessageCost cost = cost_without_copies(path, hops, bytes);
  const bool copies = path.send_copy.ps_per_byte + path.receive_copy.ps_per_byte > 0;
  if (copies && !cost.rendezvous) charge_copies(path, bytes, cost);
  return cost;
}

// Moves the copies of an eager message from its transfer, which they are part of, to the overheads.
void Network::charge_copies(const Path& path, uint64_t bytes, MessageCost& cost) {
  const SimTime out = path.send_copy.time_of(bytes);
  const SimTime in = path.receive_copy.time_of(bytes);
  cost.send_overhead += out;
  cost.receive_overhead += in;
  cost.transfer = later(cost.transfer, out + in) - (out + in);
}

MessageCost Network::cost(int from_rank, int to_rank, uint64_t bytes) const {
  const uint32_t* from = &rank_nodes_[index(from_rank)];
  const uint32_t* to = &rank_nodes_[index(to_rank)];
  if (from[0] == to[0]) return cost_on(inside_, 0, bytes);
  return cost_on(between_, distance_.hops(from + 1, to + 1), bytes);
}

MessageCost Network::rdma_cost(int from_rank, int to_rank, uint64_t bytes) const {
  const int apart = hops(from_rank, to_rank);
  return cost_without_copies(apart == 0 ? inside_ : between_, apart, bytes);
}

SimTime Network::least_latency() const {
  SimTime least = SimTime::never();
  for (const CostRange& range : between_.ranges) {
    const MessageCost cost = cost_on(between_, 1, range.up_to);
    least = std::min({least, cost.latency, cost.control_latency});
  }
  return least;
}

SimTime Network::Rate::time_of(uint64_t bytes) const {
  const double ps = static_cast<double>(bytes) * ps_per_byte;
  return SimTime::from_ps(static_cast<int64_t>(std::min(ps, kLongestTransferPs))).due_to(key);
}

SimTime Network::copy_time(uint64_t bytes) const {
  if (copies_.ps_per_byte == 0) return SimTime::zero();
  const SimTime message = transfer_time(bytes, range_of(inside_, bytes).ps_per_byte);
  return std::min(copies_.time_of(bytes), message.due_to(inside_.bandwidth_key));
}

SimTime Network::reduction_time(uint64_t bytes) const {
  if (reductions_.ps_per_byte == 0) return SimTime::zero();
  return reductions_.time_of(bytes);
}

MessageCost Network::cost_between_nodes(int from_node, int to_node, int beyond,
                                        uint64_t bytes) const {
  return cost_without_copies(between_, distance_.hops(from_node, to_node) + beyond, bytes);
}

SimTime ping_pong(const Machine& machine, uint64_t bytes, int hops) {
  const auto path = Network::make_path(hops == 0 ? machine.intranode : machine.network);
  const MessageCost cost = Network::cost_on(path, hops, bytes);
  SimTime time = cost.send_overhead + cost.latency + cost.transfer + cost.receive_overhead;
  if (cost.rendezvous) time += cost.control_latency * 2;
  return time;
}

}  // namespace sesame::network
