#include "core/storage/links.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/pool.h"

namespace sesame::storage {
namespace {

using network::MessageCost;

// A message on its way through cards.
class FileTransit final : public network::Transit, public Pooled<FileTransit> {
 public:
  FileTransit(pdes::EventQueue& events, pdes::ConditionalEvent* arrival)
      : events_(events), arrival_(arrival) {}

 private:
  void arrives(SimTime time) override {
    if (arrival_ != nullptr) events_.schedule(*arrival_, time);
    delete this;
  }

  pdes::EventQueue& events_;
  pdes::ConditionalEvent* const arrival_;
};

// A message of an I/O node and the reply to it.
struct Exchange final : pdes::ConditionalEvent, Pooled<Exchange> {
  enum class State : uint8_t { kToNode, kLeaving, kToIonode, kDone };
  void fire() override;

  Links* links = nullptr;
  Completion* completion = nullptr;
  Client client;
  uint32_t ionode = 0;
  uint64_t reply_bytes = 0;
  State state = State::kToNode;
  MessageTimes message;  // the one in flight
};

void Exchange::fire() {
  const SimTime now = time();
  switch (state) {
    case State::kToNode: {
      const SimTime taken = links->receive_at_node(now, client.node, message.transfer);
      const Departure reply =
          links->departure(taken + message.receive_overhead, client.node, ionode, reply_bytes);
      state = State::kLeaving;
      return links->events().schedule(*this, reply.at);
    }
    case State::kLeaving:
      state = State::kToIonode;
      message = links->send_to_ionode(now, client, ionode, reply_bytes, *this);
      return;
    case State::kToIonode: {
      const SimTime taken = links->receive_at_ionode(now, ionode, message.transfer);
      state = State::kDone;
      return links->events().schedule(*this, taken + message.receive_overhead);
    }
    case State::kDone: {
      Completion& waiter = *completion;
      delete this;
      waiter.done(now);
    }
  }
}

MessageTimes times_of(const MessageCost& cost) {
  return {cost.transfer, cost.send_overhead, cost.receive_overhead};
}

}  // namespace

Links::Links(const machine::StorageParameters& parameters, const network::Network& network,
             network::Traffic* traffic, pdes::EventQueue& events)
    : network_(network), traffic_(traffic), events_(events), is_local_(parameters.ionodes == 0) {
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
SimTime Links::earliest_start(SimTime ready, const MessageCost& cost) {
  const SimTime sent = ready + cost.send_overhead;
  return cost.rendezvous ? sent + cost.control_latency * 2 : sent;
}

network::Card* Links::card_of(const Client& client) const {
  if (traffic_ == nullptr) return nullptr;
  network::Cards& cards = traffic_->cards();
  return client.interface_free != nullptr ? &cards.of_rank(client.rank)
                                          : &cards.of_node(client.node);
}

Departure Links::departure(SimTime ready, int node, uint32_t ionode, uint64_t bytes) const {
  if (is_local_) return {ready, {}};
  const MessageCost cost = network_.cost_between_nodes(node, attached_[ionode], 1, bytes);
  return {earliest_start(ready, cost), cost.send_overhead};
}

MessageTimes Links::send_to_ionode(SimTime now, const Client& client, uint32_t ionode,
                                   uint64_t bytes, pdes::ConditionalEvent& arrival) {
  if (is_local_) {
    events_.schedule(arrival, now);
    return {};
  }
  const MessageCost cost = network_.cost_between_nodes(client.node, attached_[ionode], 1, bytes);
  send_from_node(now, client, nullptr, cost, bytes, arrival);
  return times_of(cost);
}

MessageTimes Links::send_from_ionode(SimTime ready, uint32_t ionode, const Client& client,
                                     uint64_t bytes, pdes::ConditionalEvent* arrival) {
  if (is_local_) {
    if (arrival != nullptr) events_.schedule(*arrival, ready);
    return {};
  }
  const MessageCost cost = network_.cost_between_nodes(attached_[ionode], client.node, 1, bytes);
  const SimTime begin = later(earliest_start(ready, cost), ionode_out_[ionode]);
  ionode_out_[ionode] = begin + cost.injection;
  start({.to = card_of(client), .bytes = bytes, .start = begin, .cost = cost}, arrival);
  return times_of(cost);
}

MessageTimes Links::send_between_cnodes(SimTime ready, int from, int to, uint64_t bytes,
                                        pdes::ConditionalEvent& arrival) {
  if (from == to) {
    events_.schedule(arrival, ready);
    return {};
  }
  const MessageCost cost = network_.cost_between_nodes(from, to, 0, bytes);
  send_from_node(earliest_start(ready, cost), {.node = from}, card_of({.node = to}), cost, bytes,
                 arrival);
  return times_of(cost);
}

SimTime Links::exchange(SimTime now, uint32_t ionode, const Client& client, uint64_t bytes,
                        uint64_t reply_bytes, Completion& completion) {
  auto* exchange = new Exchange;
  exchange->links = this;
  exchange->completion = &completion;
  exchange->client = client;
  exchange->ionode = ionode;
  exchange->reply_bytes = reply_bytes;
  exchange->message = send_from_ionode(now, ionode, client, bytes, exchange);
  return exchange->message.send_overhead + exchange->message.receive_overhead;
}

// The gap between messages (g of LogGP) holds for one rank: during it, other ranks can use the
// card. A message waits for a card that it shares with those of ranks when its own interface has
// it (network/traffic.h).
void Links::send_from_node(SimTime earliest, const Client& client, network::Card* to,
                           const MessageCost& cost, uint64_t bytes,
                           pdes::ConditionalEvent& arrival) {
  SimTime begin = earliest;
  if (client.interface_free != nullptr) begin = later(begin, *client.interface_free);
  if (traffic_ == nullptr) {
    SimTime& card_free = node_out_[static_cast<size_t>(client.node)];
    begin = later(begin, card_free);
    card_free = begin + (client.interface_free != nullptr ? cost.transfer : cost.injection);
  }
  if (client.interface_free != nullptr) *client.interface_free = begin + cost.injection;
  start({.from = card_of(client), .to = to, .bytes = bytes, .start = begin, .cost = cost},
        &arrival);
}

void Links::start(const network::FileMessage& message, pdes::ConditionalEvent* arrival) {
  if (traffic_ != nullptr) {
    traffic_->start(*new FileTransit(events_, arrival), message);
  } else if (arrival != nullptr) {
    events_.schedule(*arrival, message.start + message.cost.latency + message.cost.transfer);
  }
}

}  // namespace sesame::storage
