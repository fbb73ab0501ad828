#include "core/mpi/messages/messaging.h"

#include <cstring>
#include <utility>

#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/in_flight.h"
#include "core/mpi/messages/transit.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

// The buffer in which a buffered send reserved space, no longer owned by the send; null for others.
AttachedBuffer* take_attached(RequestObject& send) {
  return send.mode == RequestObject::Mode::kBuffered && send.extra != nullptr
             ? std::exchange(send.extra->attached, nullptr)
             : nullptr;
}

void pack_payload(const Operation& send, char* out, Count bytes) {
  if (send.type->is_contiguous()) {
    copy_bytes(out, send.buffer, static_cast<size_t>(bytes));
  } else {
    pack_all(send.buffer, send.count, *send.type, out);
  }
}

void describe(MessageEnvelope& envelope, const Rank& sender, const Operation& send,
              const network::MessageCost& cost, SimTime sent, const SimTime& arrival) {
  envelope.context = send.context;
  envelope.source = send.comm->rank;
  envelope.tag = send.tag;
  envelope.source_world = sender.id;
  envelope.bytes = static_cast<uint64_t>(send.bytes());
  envelope.rendezvous = cost.rendezvous;
  envelope.sent = sent;
  envelope.arrival = arrival;
  envelope.receive_overhead = cost.receive_overhead;
  envelope.signature = send.type->signature();
}

void copy_payload(QueuedMessage& message, const Operation& send) {
  if (message.bytes == 0 || !send.carries_data) return;
  message.payload = message.bytes <= QueuedMessage::kInlineBytes ? message.inline_payload
                                                                 : new char[message.bytes];
  pack_payload(send, message.payload, static_cast<Count>(message.bytes));
}

// Whether the message may be delivered later, in a batch with others (in_flight.h): it is small and
// its send is complete at once, so that nothing waits for its match.
bool can_defer_delivery(const network::MessageCost& cost, const Operation& send) {
  return !cost.rendezvous && send.bytes() <= Count{QueuedMessage::kInlineBytes} &&
         (send.mode == Operation::Mode::kStandard || send.mode == Operation::Mode::kReady);
}

// Sets what the message needs of its send. `request`: null if the send is complete.
void set_origin(MessageEnvelope& message, const Operation& send, RequestObject* request) {
  if (send.mode == Operation::Mode::kBuffered) {
    message.set_attached(take_attached(*request));
  } else if (message.rendezvous || send.mode == Operation::Mode::kSynchronous) {
    message.set_sender(*request);
  }
}

// A message of its own, which its send can be cancelled by. `request`: as above.
QueuedMessage* make_message(const MessageEnvelope& envelope, const Operation& send,
                            RequestObject* request) {
  auto* message = new QueuedMessage(envelope);
  if (message->sender() != nullptr) {
    request->queued = message;
  } else {
    copy_payload(*message, send);
  }
  return message;
}

void deliver_at_once(Rank& sender, const Route& route, MessageEnvelope& message,
                     const Operation& send, RequestObject* request) {
  World& world = sender.world;
  InFlight::of(world).deliver_all();
  Matching& matching = world.matching_of(route.target);
  Channel& channel = matching.channel(message.context, message.source);
  if (RequestObject* receive = arrive(world, matching, channel, message)) {
    return deliver_to_posted(world, route.target, *receive, message, send);
  }
  QueuedMessage* queued = make_message(message, send, request);
  if (message.rendezvous) {
    sender.interface.announce(message.arrival + route.cost.control_latency);
  }
  matching.enqueue(channel, queued);
}

// Sends a message to a rank of another worker. Whether its receive is posted is not known here, so
// a rendezvous is always announced.
void send_away(Rank& sender, const Route& route, const MessageEnvelope& message,
               const Operation& send) {
  InFlight::of(sender.world);  // sends what an answer asks for
  if (message.rendezvous) sender.interface.announce(message.arrival + route.cost.control_latency);
  sender.world.remote->send(route.target, message, {.send = &send}, nullptr);
}

void send_alone(Rank& sender, const Route& route, MessageEnvelope& message, const Operation& send,
                RequestObject* request) {
  if (!sender.world.is_here(route.target)) return send_away(sender, route, message, send);
  deliver_at_once(sender, route, message, send, request);
}

// Sends a message that shares cards or links. The control messages of a rendezvous share nothing,
// but stay behind earlier messages of their channel.
void send_shared(Rank& sender, const Route& route, MessageEnvelope& message, const Operation& send,
                 RequestObject* request, SimTime start) {
  World& world = sender.world;
  if (!message.rendezvous) {
    return send_shared_message(sender, route.target, make_message(message, send, request),
                               route.cost, start);
  }
  if (!is_behind_others(world, route.target, message)) {
    return send_alone(sender, route, message, send, request);
  }
  InFlight::of(world);  // sends what its answer asks for
  sender.interface.announce(message.arrival + route.cost.control_latency);
  send_shared_request(world, route.target, make_message(message, send, request));
}

// Starts a send to a rank. `request`: null if the send is complete afterwards.
void post(Strand& strand, const Operation& send, const Route& route, RequestObject* request) {
  Rank& rank = *strand.rank;
  const network::MessageCost& cost = route.cost;
  const bool shared =
      network::shared_between(rank.world.traffic.get(), rank.id, route.target) != nullptr;
  if (shared)
    rank.world.matching_of(route.target).prefetch_in_transit(send.context, send.comm->rank);
  strand.now += cost.send_overhead;
  rank.interface.await_turn(strand);
  SimTime arrival = strand.departure();
  SimTime start;
  if (cost.rendezvous) {
    arrival += cost.control_latency;
  } else {
    arrival = rank.interface.reserve(std::move(arrival), cost.injection);
    if (shared) start = arrival;
    arrival += cost.latency;
    arrival += cost.transfer;
  }
  if (!shared && rank.world.is_here(route.target) && can_defer_delivery(cost, send)) {
    auto* message = new QueuedMessage;
    describe(*message, rank, send, cost, plain(strand.now), arrival);
    copy_payload(*message, send);
    InFlight::of(rank.world).add(route.target, message);
  } else {
    MessageEnvelope message;
    describe(message, rank, send, cost, plain(strand.now), arrival);
    set_origin(message, send, request);
    if (shared) return send_shared(rank, route, message, send, request, start);
    send_alone(rank, route, message, send, request);
  }
}

}  // namespace

Route route_of(const Strand& strand, const Operation& send) {
  if (send.peer == MPI_PROC_NULL) return {};
  const int target = (*send.comm->remote)[send.peer];
  return {target, strand.rank->world.network.cost(strand.rank->id, target,
                                                  static_cast<uint64_t>(send.bytes()))};
}

bool completes_on_post(const Route& route, const Operation& send) {
  return route.target == MPI_PROC_NULL || send.mode == Operation::Mode::kBuffered ||
         (!route.cost.rendezvous && send.mode != Operation::Mode::kSynchronous);
}

void post_send(Strand& strand, RequestObject& request, const Route& route) {
  if (route.target != MPI_PROC_NULL) post(strand, request, route, &request);
  if (completes_on_post(route, request)) complete(request, strand.now);
}

void post_complete_send(Strand& strand, const Operation& send, const Route& route) {
  if (route.target != MPI_PROC_NULL) post(strand, send, route, nullptr);
}

void post_receive(Strand& strand, RequestObject& request) {
  Rank& rank = *strand.rank;
  strand.now.pass(strand.place());
  request.posted = strand.now;
  if (request.peer == MPI_PROC_NULL) {
    request.status = Status{0, 0, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS};
    complete(request, strand.now);
    return;
  }
  if (QueuedMessage* message = rank.matching.match_message_or_queue(request, deliver)) {
    deliver(rank.world, rank.id, request, message);
  }
}

void post_cancellable_receive(Strand& strand, RequestObject& request) {
  request.is_cancellable = strand.rank->matching.allows_cancels();
  post_receive(strand, request);
}

void receive_matched(Strand& strand, RequestObject& request, QueuedMessage* message) {
  request.posted = strand.now;
  deliver(strand.rank->world, strand.rank->id, request, message);
}

}  // namespace sesame::mpi
