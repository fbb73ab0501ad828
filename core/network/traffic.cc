#include "core/network/traffic.h"

#include <algorithm>

#include "core/base/mixing.h"
#include "core/network/transfer_time.h"

namespace sesame::network {
void Transit::fire() { traffic_->advance(*this); }

Traffic::Traffic(const machine::Machine& machine, const Network& network, pdes::EventQueue& events)
    : network_(network), events_(events), cards_(machine) {
  if (machine.sharing.mode == machine::SharingMode::kLinks) {
    fabric_ = std::make_unique<Fabric>(machine);
    hop_latency_ = machine.network.hop_latency;
  }
  if (machine.sharing.memory_bandwidth > 0) {
    memory_ps_per_byte_ = 1e12 / machine.sharing.memory_bandwidth;
    memory_key_ = machine.sharing.memory_key;
    memories_.resize(static_cast<size_t>(machine.nodes));
  }
  if (cards_.depends_on_cores()) ranks_of_node_.resize(static_cast<size_t>(machine.nodes));
  std::vector<int> nodes;
  for (int rank = 0; rank < network.ranks(); ++rank) nodes.push_back(network.node_of(rank));
  add_ranks(nodes);
}

void Traffic::add_ranks(const std::vector<int>& nodes) {
  cards_.add_ranks(nodes);
  if (ranks_of_node_.empty()) return;
  int rank = network_.ranks() - static_cast<int>(nodes.size());
  for (const int node : nodes) ranks_of_node_[static_cast<size_t>(node)].push_back(rank++);
}

void Traffic::start(Transit& transit, const RankMessage& message) {
  prepare(transit, message.bytes, message.start, message.cost);
  transit.from_ = message.from;
  transit.to_ = message.to;
  transit.send_card_ = &cards_.of_rank(message.from);
  transit.receive_card_ = &cards_.of_rank(message.to);
  transit.number_ = message.number;
  transit.stage_ = network_.node_of(message.from) == network_.node_of(message.to)
                       ? Transit::Stage::kMemory
                       : Transit::Stage::kSend;
  schedule(transit);
}

void Traffic::start(Transit& transit, const FileMessage& message) {
  prepare(transit, message.bytes, message.start, message.cost);
  transit.send_card_ = message.from;
  transit.receive_card_ = message.to;
  if (message.from == nullptr) approach_receiver(transit);
  schedule(transit);
}

void Traffic::prepare(Transit& transit, uint64_t bytes, SimTime start, const MessageCost& cost) {
  transit.traffic_ = this;
  transit.bytes_ = bytes;
  transit.head_ = start;
  transit.tail_ = start + cost.transfer;
  transit.latency_ = cost.latency;
  transit.injection_ = cost.injection;
}

void Traffic::continue_at_receiver(Transit& transit, int from, int to, uint64_t bytes,
                                   const Passage& passage) {
  transit.traffic_ = this;
  transit.from_ = from;
  transit.to_ = to;
  transit.receive_card_ = &cards_.of_rank(to);
  transit.bytes_ = bytes;
  transit.head_ = passage.head;
  transit.tail_ = passage.tail;
  transit.number_ = passage.number;
  transit.stage_ = Transit::Stage::kReceive;
  schedule(transit);
}

void Traffic::schedule(Transit& transit) {
  if (transit.is_of_file()) return events_.schedule(transit, plain(transit.head_));
  events_.schedule_once(
      transit, plain(transit.head_),
      {pdes::EventClass::kTransit, static_cast<uint32_t>(transit.from_), transit.number_});
}

void Traffic::advance(Transit& transit) {
  const SimTime now = transit.head_;
  while (transit.head_ == now) {
    switch (transit.stage_) {
      case Transit::Stage::kSend:
        send(transit);
        if (transit.stage_ == Transit::Stage::kReceive &&
            transit.hand_over({transit.head_, transit.tail_, transit.number_}))
          return;
        break;
      case Transit::Stage::kEnter:
        enter_fabric(transit);
        break;
      case Transit::Stage::kLink:
        pass_link(transit);
        break;
      case Transit::Stage::kReceive:
        return receive(transit);
      case Transit::Stage::kMemory:
        return copy(transit);
    }
  }
  schedule(transit);
}

void Traffic::send(Transit& transit) {
  Card& card = *transit.send_card_;
  const SimTime bytes = cards_.send_time(transit.bytes_, busy_cores(card.node, transit.head_));
  transit.head_ = card.send.serve(transit.head_, later(bytes, card.send.gap));
  transit.tail_ = later(transit.tail_, transit.head_ + bytes);
  count(card.send, transit, transit.head_, later(bytes, card.send.gap));
  transit.leaves(transit.head_ + later(bytes, transit.injection_));
  if (fabric_ == nullptr || transit.is_of_file()) return approach_receiver(transit);
  transit.stage_ = Transit::Stage::kEnter;
  if (!fabric_->is_adaptive()) enter_fabric(transit);
}

// Divides the latency into that of the hops and the rest, and chooses a route. Adaptive ones are
// chosen in an event of their own when the card starts to send the message.
void Traffic::enter_fabric(Transit& transit) {
  const int hops = network_.hops(transit.from_, transit.to_) - 1;
  transit.hop_ = hop_latency_;
  if (hops > 0) {
    transit.hop_ = std::min(hop_latency_, transit.latency_ / hops);
    transit.latency_ -= transit.hop_ * hops;
  }
  const uint64_t draw = mix64(
      {static_cast<uint64_t>(transit.from_), static_cast<uint64_t>(transit.to_), transit.number_});
  transit.route_ = fabric_->choose(network_.node_of(transit.from_), network_.node_of(transit.to_),
                                   draw, transit.bytes_, transit.head_);
  approach_next(transit, fabric_->begins_at_node() ? SimTime::zero() : transit.hop_);
}

void Traffic::approach_next(Transit& transit, SimTime hop) {
  transit.link_ = fabric_->advance(transit.route_);
  if (transit.link_ == nullptr) return approach_receiver(transit);
  transit.head_ += hop;
  transit.tail_ += hop;
  transit.stage_ = Transit::Stage::kLink;
}

void Traffic::approach_receiver(Transit& transit) {
  transit.head_ += transit.latency_;
  transit.tail_ += transit.latency_;
  transit.stage_ = Transit::Stage::kReceive;
}

void Traffic::pass_link(Transit& transit) {
  Link& link = *transit.link_;
  const SimTime time = fabric_->time_of(link, transit.bytes_);
  transit.head_ = fabric_->serve(transit.route_, link, transit.head_, transit.bytes_);
  transit.tail_ = later(transit.tail_, transit.head_ + time);
  count(link, transit, transit.head_, time);
  approach_next(transit, transit.hop_);
}

void Traffic::receive(Transit& transit) {
  if (transit.receive_card_ == nullptr) return transit.arrives(transit.tail_);
  Card& card = *transit.receive_card_;
  const SimTime bytes = cards_.receive_time(transit.bytes_, busy_cores(card.node, transit.head_));
  const SimTime begin = card.receive.serve(transit.head_, later(bytes, card.receive.gap));
  count(card.receive, transit, begin, later(bytes, card.receive.gap));
  transit.arrives(later(transit.tail_, begin + bytes));
}

void Traffic::copy(Transit& transit) {
  Server& memory = memories_[static_cast<size_t>(network_.node_of(transit.from_))];
  const SimTime bytes = transfer_time(transit.bytes_, memory_ps_per_byte_).due_to(memory_key_);
  const SimTime begin = memory.serve(transit.head_, bytes);
  const SimTime end = later(transit.tail_, begin + bytes);
  transit.leaves(begin + later(bytes, transit.injection_));
  transit.arrives(end + transit.latency_);
}

void Traffic::count(Server& server, const Transit& transit, SimTime begin, SimTime time) const {
  server.count(time, transit.bytes_);
  if (keeps_history_) server.record(begin, time, transit.from_, transit.to_, transit.bytes_);
}

int Traffic::busy_cores(uint32_t node, SimTime now) const {
  if (ranks_of_node_.empty() || is_busy_ == nullptr) return 0;
  const std::vector<int>& ranks = ranks_of_node_[node];
  return static_cast<int>(
      std::ranges::count_if(ranks, [&](int rank) { return is_busy_(busy_context_, rank, now); }));
}

}  // namespace sesame::network
