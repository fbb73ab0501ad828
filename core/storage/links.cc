#include "core/storage/links.h"

namespace sesame::storage {

Result<Links> Links::create(const machine::StorageParameters& parameters,
                            const network::Network& network) {
  Links links;
  links.network_ = &network;
  links.is_local_ = parameters.ionodes == 0;
  const auto nodes = static_cast<size_t>(network.nodes());
  const auto ionodes = static_cast<size_t>(std::max(parameters.ionodes, 1));
  links.ionode_out_.resize(ionodes);
  links.ionode_in_.resize(ionodes);
  links.node_out_.resize(1);
  if (links.is_local_) return links;
  links.node_out_.resize(nodes);
  links.node_in_.resize(nodes);
  const std::vector<uint32_t>& attached = parameters.attached;
  if (!attached.empty() && attached.size() != ionodes) {
    return error("each I/O node is attached to a node: expected " + std::to_string(ionodes) +
                     " of them, got " + std::to_string(attached.size()),
                 "leave `attached` out to spread them evenly");
  }
  for (size_t i = 0; i < ionodes; ++i) {
    const size_t node = attached.empty() ? i * nodes / ionodes : attached[i];
    if (node >= nodes) {
      return error("I/O node " + std::to_string(i) + " is attached to node " +
                   std::to_string(node) + ", but the machine has " + std::to_string(nodes) +
                   ", numbered from 0");
    }
    links.attached_.push_back(static_cast<int>(node));
  }
  return links;
}

// A large message to a node that waits for nothing else: its request and the clear-to-send are on
// the way before the data is (docs/models/network.md).
Flight Links::fly(SimTime ready, SimTime& interface_free, const network::MessageCost& cost) {
  SimTime may_start = ready + cost.send_overhead;
  if (cost.rendezvous) may_start += cost.control_latency * 2;
  const SimTime start = later(may_start, interface_free);
  interface_free = start + cost.injection;
  return {start + cost.latency + cost.transfer, cost.transfer, cost.send_overhead,
          cost.receive_overhead};
}

}  // namespace sesame::storage
