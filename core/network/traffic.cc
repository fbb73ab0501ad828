#include "core/network/traffic.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mixing.h"
#include "core/base/pool.h"
#include "core/network/distance.h"
#include "core/network/transfer_time.h"

namespace sesame::network {
// What lies in front of each link and at least in front of the receiver's card.
static SimTime latency_of_hop(SimTime latency, int hops, const SimTime& hop_latency) {
  return std::min(hop_latency, latency / (hops + 1));
}

void Transit::fire() { traffic_->advance(*this); }

Traffic::Traffic(const machine::Machine& machine, const Network& network, pdes::EventQueue& events)
    : network_(network), events_(events), cards_(machine) {
  if (machine.sharing.mode == machine::SharingMode::kLinks) {
    fabric_ = std::make_unique<Fabric>(machine);
    hop_latency_ = machine.network.hop_latency;
    diameter_ = Distance(machine.topology, machine.nodes).diameter();
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
  set_passage(transit, passage);
  if (!send_walk(transit)) schedule(transit);
}

void Traffic::divide_among_processes(std::vector<int> process_of_node, int here, SendWalk send) {
  process_of_node_ = std::move(process_of_node);
  here_ = here;
  send_walk_ = std::move(send);
}

// The rest of the latency behind the last link is at least that of a hop, and hops are shortest
// between the nodes that are furthest apart or nearest: a third of each hop is in the latency of
// any message.
SimTime Traffic::least_step(SimTime shortest) const {
  if (fabric_ == nullptr || diameter_ <= 1) return shortest;
  const int hops = diameter_ - 1;
  return std::min(shortest, latency_of_hop(shortest + hop_latency_ / 3 * hops, hops, hop_latency_));
}

Passage Traffic::passage_of(const Transit& transit) const {
  Passage passage{.head_ps = transit.head_.ps(),
                  .tail_ps = transit.tail_.ps(),
                  .latency_ps = transit.latency_.ps(),
                  .hop_ps = transit.hop_.ps(),
                  .number = transit.number_,
                  .route = transit.route_};
  if (transit.stage_ == Transit::Stage::kLink) passage.link = fabric_->number_of(*transit.link_);
  return passage;
}

void Traffic::set_passage(Transit& transit, const Passage& passage) {
  const bool has_link = passage.link != Passage::kNoLink;
  transit.head_ = passage.head();
  transit.tail_ = SimTime::from_ps(passage.tail_ps);
  transit.latency_ = SimTime::from_ps(passage.latency_ps);
  transit.hop_ = SimTime::from_ps(passage.hop_ps);
  transit.number_ = passage.number;
  transit.route_ = passage.route;
  transit.link_ = has_link ? &fabric_->at(passage.link) : nullptr;
  transit.stage_ = has_link ? Transit::Stage::kLink : Transit::Stage::kReceive;
}

// Where a walk continues: at its next link, or at the end where its receiver is.
int Traffic::process_of(const Walk& walk) const {
  const uint32_t node = walk.passage.link != Passage::kNoLink
                            ? fabric_->node_of(walk.passage.link)
                            : static_cast<uint32_t>(network_.node_of(walk.to));
  return process_of_node_[std::min(size_t{node}, process_of_node_.size() - 1)];
}

// A transit on the links of this process whose receiver is in another one.
class Traffic::Walker final : public Transit, public Pooled<Walker> {
 public:
  Walker(Traffic& traffic, const Walk& walk) : traffic_(traffic), walk_(walk) {}

 private:
  bool hand_over(const Passage& passage) override {
    walk_.passage = passage;
    const int next = traffic_.process_of(walk_);
    if (next == traffic_.here_) return false;
    traffic_.send_walk_(next, walk_);
    delete this;
    return true;
  }
  void arrives(SimTime /*time*/) override { CHECK(false); }

  Traffic& traffic_;
  Walk walk_;
};

void Traffic::take_walk(const Walk& walk) {
  const bool is_back = process_of_node_[static_cast<size_t>(network_.node_of(walk.to))] == here_;
  if (is_back) {
    auto& transit = *reinterpret_cast<Transit*>(static_cast<uintptr_t>(walk.transit));
    set_passage(transit, walk.passage);
    return schedule(transit);
  }
  auto* walker = new Walker(*this, walk);
  static_cast<Transit*>(walker)->traffic_ = this;
  walker->from_ = walk.from;
  walker->to_ = walk.to;
  walker->bytes_ = walk.bytes;
  set_passage(*walker, walk.passage);
  schedule(*walker);
}

// True: the transit is now with another process, or waits for its walk over the links of others.
bool Traffic::pass_to_other_process(Transit& transit) {
  if (!send_walk_ || transit.is_of_file()) return false;
  return transit.hand_over(passage_of(transit)) || send_walk(transit);
}

// Sends a walk to the next link if that is of another process, and returns whether it is.
bool Traffic::send_walk(Transit& transit) {
  if (transit.stage_ != Transit::Stage::kLink || !send_walk_) return false;
  const Walk walk{.passage = passage_of(transit),
                  .from = transit.from_,
                  .to = transit.to_,
                  .bytes = transit.bytes_,
                  .transit = reinterpret_cast<uintptr_t>(&transit)};
  const int next = process_of(walk);
  if (next == here_) return false;
  send_walk_(next, walk);
  return true;
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
        if (may_be_handed_over(transit) && pass_to_other_process(transit)) return;
        break;
      case Transit::Stage::kEnter:
        enter_fabric(transit);
        if (pass_to_other_process(transit)) return;
        break;
      case Transit::Stage::kLink:
        pass_link(transit);
        if (pass_to_other_process(transit)) return;
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
  const SimTime busy = bytes + card.send.gap;
  transit.head_ = card.send.serve(transit.head_, busy);
  transit.tail_ = later(transit.tail_, transit.head_ + bytes);
  count(card.send, transit, transit.head_, busy);
  transit.leaves(transit.head_ + later(bytes, transit.injection_));
  if (fabric_ == nullptr || transit.is_of_file()) return approach_receiver(transit);
  transit.stage_ = Transit::Stage::kEnter;
  if (!fabric_->is_adaptive()) enter_fabric(transit);
}

// Divides the latency into that of the hops and the rest, and chooses a route. Adaptive ones are
// chosen in an event of their own when the card starts to send the message.
void Traffic::enter_fabric(Transit& transit) {
  const int hops = network_.hops(transit.from_, transit.to_) - 1;
  transit.hop_ = latency_of_hop(transit.latency_, hops, hop_latency_);
  transit.latency_ -= transit.hop_ * hops;
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
  const SimTime busy = bytes + card.receive.gap;
  const SimTime begin = card.receive.serve(transit.head_, busy);
  count(card.receive, transit, begin, busy);
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
