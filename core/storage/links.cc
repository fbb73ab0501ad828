#include "core/storage/links.h"

#include <algorithm>

#include "core/base/check.h"

namespace sesame::storage {

Links::Links(const machine::StorageParameters& parameters, const network::Network& network)
    : network_(&network), is_local_(parameters.ionodes == 0) {
  const auto nodes = static_cast<size_t>(network.nodes());
  const auto ionodes = static_cast<size_t>(std::max(parameters.ionodes, 1));
  ionode_out_.resize(ionodes);
  ionode_in_.resize(ionodes);
  if (is_local_) return;
  node_out_.resize(nodes);
  node_in_.resize(nodes);
  for (size_t i = 0; i < ionodes; ++i) {
    const size_t node = parameters.attached.empty() ? i * nodes / ionodes : parameters.attached[i];
    CHECK(node < nodes);
    attached_.push_back(static_cast<int>(node));
  }
}

// With the rendezvous protocol the receiver, which waits for nothing else, answers the
// ready-to-send message at once; the data leaves a round trip later (docs/models/network.md).
SimTime Links::earliest_start(SimTime ready, const network::MessageCost& cost) {
  const SimTime sent = ready + cost.send_overhead;
  return cost.rendezvous ? sent + cost.control_latency * 2 : sent;
}

MessageTimes Links::transmit_from_node(SimTime earliest_start, const Client& client,
                                       const network::MessageCost& cost, uint64_t bytes) {
  SimTime* interface_free = client.interface_free;
  network::Cards* cards = network_->cards();
  if (cards == nullptr) {
    SimTime& card_free = node_out_[static_cast<size_t>(client.node)];
    return transmit(earliest_start, interface_free != nullptr ? *interface_free : card_free,
                    card_free, cost.transfer, cost);
  }
  SimTime always_free;
  const bool is_rank = interface_free != nullptr;
  network::Card& card = is_rank ? cards->of_rank(client.rank) : cards->of_node(client.node);
  return transmit(earliest_start, is_rank ? *interface_free : always_free, card.send.free,
                  later(send_time(bytes), card.send.gap), cost);
}

// The gap between messages (g of LogGP) holds for one rank: during it, other ranks can use the
// card.
MessageTimes Links::transmit(SimTime earliest_start, SimTime& interface_free, SimTime& card_free,
                             SimTime occupied, const network::MessageCost& cost) {
  const SimTime start = later(later(earliest_start, interface_free), card_free);
  card_free = start + occupied;
  interface_free = start + cost.injection;
  return {start + cost.latency + cost.transfer, cost.transfer, cost.send_overhead,
          cost.receive_overhead};
}

}  // namespace sesame::storage
