#include "core/mpi/messages/messaging.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/check.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

// Simulated cost of a call that looks whether something has happened and finds nothing. MPI_Test
// of MPICH 4.0 on the machines this was written on takes 40 to 120 ns.
constexpr SimTime kPollCost = SimTime::from_ns(100);

// Takes over the space that a buffered send has reserved, if it has.
AttachedBuffer* take_attached(RequestObject& send) {
  return send.mode == RequestObject::Mode::kBuffered && send.extra != nullptr
             ? std::exchange(send.extra->attached, nullptr)
             : nullptr;
}

Count bytes_of(const RequestObject& request) { return request.count * request.type->size(); }

void pack_payload(const RequestObject& send, char* out, Count bytes) {
  if (send.type->is_contiguous()) {
    std::memcpy(out, send.buffer, static_cast<size_t>(bytes));
  } else {
    pack_all(send.buffer, send.count, *send.type, out);
  }
}

// Sets the receive's status and gives how many bytes fit; longer messages are cut and an error.
Count accept(RequestObject& receive, int source, int tag, uint64_t bytes) {
  receive.status.MPI_SOURCE = source;
  receive.status.MPI_TAG = tag;
  const Count capacity = bytes_of(receive);
  Count accepted = static_cast<Count>(bytes);
  if (accepted > capacity) [[unlikely]] {
    receive.error = MPI_ERR_TRUNCATE;
    note_truncation(receive, bytes);
    accepted = capacity;
  }
  receive.status.count_lo = 0;
  receive.status.count_hi_and_cancelled = 0;
  receive.status.set_byte_count(accepted);
  return accepted;
}

void move_direct(const RequestObject& send, RequestObject& receive, Count accepted) {
  if (accepted == 0 || !receive.carries_data) return;
  if (send.type->is_contiguous() && receive.type->is_contiguous()) {
    if (receive.buffer != send.buffer) {
      std::memmove(receive.buffer, send.buffer, static_cast<size_t>(accepted));
    }
  } else {
    copy_typed(send.buffer, send.count, *send.type, receive.buffer, receive.count, *receive.type);
  }
}

void move_queued(const QueuedMessage& message, RequestObject& receive, Count accepted) {
  if (accepted == 0 || !receive.carries_data) return;
  if (message.payload == nullptr) {
    move_direct(*message.sender(), receive, accepted);
  } else if (receive.type->is_contiguous()) {
    std::memcpy(receive.buffer, message.payload, static_cast<size_t>(accepted));
  } else {
    unpack_range(message.payload, receive.buffer, receive.count, *receive.type, 0, accepted);
  }
}

void record_message(World& world, const MessageRecord& record) {
  if (world.recorder != nullptr) world.recorder->record(record);
}

// Both sides of a rendezvous are known: the data is ready when the receiver's clear-to-send is
// back. The announcement reached the receiver at `announced`.
Injection* new_injection(const network::MessageCost& cost, SimTime announced,
                         RequestObject& receive) {
  auto* injection = new Injection;
  injection->ready = later(announced, receive.posted) + cost.control_latency;
  injection->cost = cost;
  injection->receive = &receive;
  injection->record.rendezvous = true;
  return injection;
}

// What the two ways of meeting (receive first, message first) share.
struct Outgoing {
  Rank& sender;
  int target;
  const network::MessageCost& cost;
  uint64_t bytes;
  SimTime arrival;  // of the data, or of the request to send
  SimTime begun;
};

// The announced data of a posted receive: both requests are completed when it is injected.
void inject_announced(Outgoing& out, RequestObject& send, RequestObject& receive) {
  Injection* injection = new_injection(out.cost, out.arrival, receive);
  if (send.mode != RequestObject::Mode::kBuffered) injection->send = &send;
  injection->attached = take_attached(send);
  MessageRecord& record = injection->record;
  record.source = out.sender.id;
  record.destination = out.target;
  record.tag = send.tag;
  record.context = send.context;
  record.bytes = out.bytes;
  record.sent = out.begun;
  out.sender.interface.request(injection);
}

void match_posted(Outgoing& out, RequestObject& send, RequestObject& receive) {
  __builtin_prefetch(receive.buffer, 1);
  __builtin_prefetch(receive.waiter, 1);
  const Count accepted = accept(receive, send.comm->rank, send.tag, out.bytes);
  check_types(out.sender.world, receive, send.type->signature(), accepted);
  move_direct(send, receive, accepted);
  receive.receive_overhead = out.cost.receive_overhead;
  if (out.cost.rendezvous) return inject_announced(out, send, receive);
  if (send.mode == RequestObject::Mode::kSynchronous) {
    complete(send, later(out.arrival, receive.posted) + out.cost.control_latency);
  }
  const SimTime received = later(out.arrival, receive.posted);
  record_message(out.sender.world, {out.sender.id, out.target, send.tag, send.context, out.bytes,
                                    out.begun, out.arrival, received + receive.overhead(), false});
  if (AttachedBuffer* attached = take_attached(send)) {
    release_buffer(*attached, static_cast<Count>(out.bytes), received);
  }
  complete(receive, received);
}

// A message with everything but its data.
QueuedMessage* new_message(const Outgoing& out, const RequestObject& send) {
  auto* message = new QueuedMessage;
  message->context = send.context;
  message->source = send.comm->rank;
  message->source_world = out.sender.id;
  message->tag = send.tag;
  message->bytes = out.bytes;
  message->sent = out.begun;
  message->arrival = out.arrival;
  message->receive_overhead = out.cost.receive_overhead;
  message->signature = send.type->signature();
  message->rendezvous = out.cost.rendezvous;
  return message;
}

void carry_payload(QueuedMessage& message, const RequestObject& send) {
  if (message.bytes == 0 || !send.carries_data) return;
  message.payload = message.bytes <= QueuedMessage::kInlineBytes ? message.inline_payload
                                                                 : new char[message.bytes];
  pack_payload(send, message.payload, static_cast<Count>(message.bytes));
}

void queue_message(Outgoing& out, Channel& channel, RequestObject& send) {
  QueuedMessage* message = new_message(out, send);
  message->set_attached(take_attached(send));
  const bool waits = out.cost.rendezvous || send.mode == RequestObject::Mode::kSynchronous;
  if (waits && send.mode != RequestObject::Mode::kBuffered) {
    message->set_sender(send);
    send.queued = message;
  } else {
    carry_payload(*message, send);
  }
  if (out.cost.rendezvous) {
    out.sender.interface.announce(out.arrival + out.cost.control_latency);
  }
  out.sender.world.matching_of(out.target).enqueue(channel, message);
}

// Whether the message can be put off to be delivered with others.
bool may_fly(const Outgoing& out, const RequestObject& send) {
  return !out.cost.rendezvous && out.bytes <= QueuedMessage::kInlineBytes &&
         (send.mode == RequestObject::Mode::kStandard || send.mode == RequestObject::Mode::kReady);
}

void send_at_once(Outgoing& out, RequestObject& request) {
  World& world = out.sender.world;
  world.in_flight.deliver_all();
  Matching& matching = world.matching_of(out.target);
  Channel& channel = matching.channel(request.context, request.comm->rank);
  count_message(world, channel, out.sender.id, out.bytes);
  out.arrival = later(out.arrival, channel.last_arrival);
  channel.last_arrival = out.arrival;
  if (RequestObject* receive =
          matching.match_posted_receive(channel, request.context, request.tag)) {
    match_posted(out, request, *receive);
  } else {
    queue_message(out, channel, request);
  }
}

}  // namespace

void count_message(World& world, Channel& channel, int source_world, uint64_t bytes) {
  ++channel.messages;
  channel.bytes += bytes;
  channel.source_world = source_world;
  ++world.messages;
  world.message_bytes += bytes;
  const unsigned size_class = bytes == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(bytes));
  ++world.sizes[size_class].count;
  world.sizes[size_class].bytes += bytes;
}

Route route_of(const Strand& strand, const RequestObject& send) {
  if (send.peer == MPI_PROC_NULL) return {};
  const int target = (*send.comm->remote)[send.peer];
  return {target, strand.rank->world.network.cost(strand.rank->id, target,
                                                  static_cast<uint64_t>(bytes_of(send)))};
}

bool leaves_at_once(const Route& route, const RequestObject& send) {
  return route.target == MPI_PROC_NULL || send.mode == RequestObject::Mode::kBuffered ||
         (!route.cost.rendezvous && send.mode != RequestObject::Mode::kSynchronous);
}

void post_send(Strand& strand, RequestObject& request, const Route& route) {
  if (route.target == MPI_PROC_NULL) {
    complete(request, strand.now);
    return;
  }
  Rank& rank = *strand.rank;
  const network::MessageCost& cost = route.cost;
  strand.now += cost.send_overhead;
  rank.interface.await_turn(strand);
  Outgoing out{
      rank,      route.target, cost, static_cast<uint64_t>(bytes_of(request)), SimTime::zero(),
      strand.now};
  if (cost.rendezvous) {
    out.arrival = strand.now + cost.control_latency;
  } else {
    const SimTime start = rank.interface.reserve(strand.now, cost.injection);
    out.arrival = start + cost.latency + cost.transfer;
  }
  if (may_fly(out, request)) {
    QueuedMessage* message = new_message(out, request);
    carry_payload(*message, request);
    rank.world.in_flight.add(out.target, message);
  } else {
    send_at_once(out, request);
  }
  if (leaves_at_once(route, request)) complete(request, strand.now);
}

void post_receive(Strand& strand, RequestObject& request) {
  Rank& rank = *strand.rank;
  request.posted = strand.now;
  if (request.peer == MPI_PROC_NULL) {
    request.status = Status{0, 0, MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS};
    complete(request, strand.now);
    return;
  }
  if (QueuedMessage* message = rank.matching.match_message_or_queue(request)) {
    deliver(rank.world, rank.id, request, message);
  }
}

void receive_matched(Strand& strand, RequestObject& request, QueuedMessage* message) {
  request.posted = strand.now;
  deliver(strand.rank->world, strand.rank->id, request, message);
}

// The announced data of a queued message. Frees the message.
static void inject_queued(World& world, int receiver, RequestObject& receive,
                          QueuedMessage* message) {
  Rank& sender = *world.ranks[static_cast<size_t>(message->source_world)];
  const network::MessageCost cost = world.network.cost(sender.id, receiver, message->bytes);
  Injection* injection = new_injection(cost, message->arrival, receive);
  injection->send = message->sender();
  injection->attached = message->attached();
  MessageRecord& record = injection->record;
  record.source = message->source_world;
  record.destination = receiver;
  record.tag = message->tag;
  record.context = message->context;
  record.bytes = message->bytes;
  record.sent = message->sent;
  delete message;
  sender.interface.forget_announcement();
  sender.interface.request(injection);
}

void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message) {
  const Count accepted = accept(receive, message->source, message->tag, message->bytes);
  check_types(world, receive, message->signature, accepted);
  move_queued(*message, receive, accepted);
  receive.receive_overhead = message->receive_overhead;
  if (message->sender() != nullptr) message->sender()->queued = nullptr;
  if (message->rendezvous) return inject_queued(world, receiver, receive, message);
  const SimTime received = later(message->arrival, receive.posted);
  if (message->sender() != nullptr) {
    const SimTime acknowledged =
        world.network.cost(message->source_world, receiver, message->bytes).control_latency;
    complete(*message->sender(), received + acknowledged);
  }
  record_message(world,
                 {message->source_world, receiver, message->tag, message->context, message->bytes,
                  message->sent, message->arrival, received + receive.overhead(), false});
  if (message->attached() != nullptr) {
    release_buffer(*message->attached(), static_cast<Count>(message->bytes), received);
  }
  delete message;
  complete(receive, received);
}

void complete(RequestObject& request, SimTime ready) {
  request.complete = true;
  request.ready = ready;
  Strand* waiter = request.waiter;
  if (waiter == nullptr) {
    if (request.freed) delete &request;
    return;
  }
  if (waiter->awaits_any) {
    const SimTime wake = later(ready, waiter->now);
    if (!waiter->wake.is_scheduled() || wake < waiter->wake.time()) schedule_wake(*waiter, wake);
  } else if (--waiter->outstanding == 0) {
    waiter->awaits_helper = false;
    waiter->rank->world.executive.make_ready(*waiter);
  }
}

// What every way back to the program and into its next call passes.
static void note_return(Strand& strand, const RequestObject& request) {
  strand.will_touch(request.comm);
  strand.will_touch(&request.comm->remote);
  strand.will_touch(strand.caller);
}

void await(Strand& strand, RequestObject& request) {
  if (!request.complete) {
    request.waiter = &strand;
    strand.outstanding = 1;
    strand.waiting_request = &request;
    strand.awaits_helper = request.kind == RequestObject::Kind::kCollective;
    note_return(strand, request);
    strand.rank->world.executive.block();
    strand.waiting_request = nullptr;
    request.waiter = nullptr;
  }
  if (request.ready > strand.now) {
    strand.waited += request.ready - strand.now;
    strand.now = request.ready;
  }
  strand.now += request.overhead();
}

void await_all(Strand& strand, std::span<RequestObject* const> requests) {
  int outstanding = 0;
  for (RequestObject* request : requests) {
    if (request == nullptr || request->complete || !request->active) continue;
    request->waiter = &strand;
    strand.waiting_request = request;
    strand.will_touch(request);
    strand.will_touch(&request->status);
    strand.awaits_helper |= request->kind == RequestObject::Kind::kCollective;
    ++outstanding;
  }
  if (outstanding > 0) {
    strand.outstanding = outstanding;
    note_return(strand, *strand.waiting_request);
    strand.rank->world.executive.block();
    strand.waiting_request = nullptr;
  }
  // Each completion costs its overhead when its turn comes: the first to take effect first.
  std::array<const RequestObject*, 16> few;
  std::vector<const RequestObject*> many;
  std::span<const RequestObject*> order(few);
  if (requests.size() > few.size()) {
    many.resize(requests.size());
    order = many;
  }
  size_t count = 0;
  for (RequestObject* request : requests) {
    if (request == nullptr || !request->active) continue;
    request->waiter = nullptr;
    if (request->ready <= strand.now) {
      strand.now += request->overhead();
    } else {
      order[count++] = request;
    }
  }
  std::sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count),
            [](const RequestObject* a, const RequestObject* b) { return a->ready < b->ready; });
  for (const RequestObject* request : order.first(count)) {
    if (request->ready > strand.now) {
      strand.waited += request->ready - strand.now;
      strand.now = request->ready;
    }
    strand.now += request->overhead();
  }
}

static bool all_complete(std::span<RequestObject* const> requests) {
  return std::ranges::all_of(requests, [](const RequestObject* request) {
    return request == nullptr || !request->active || request->complete;
  });
}

// Blocks until one of the incomplete requests has taken effect, but until `latest` at most: then
// all effects up to this time are known.
static void sleep_until_effect(Strand& strand, std::span<RequestObject* const> requests,
                               SimTime latest) {
  strand.awaits_any = true;
  for (RequestObject* request : requests) {
    if (request == nullptr || !request->active || request->complete) continue;
    request->waiter = &strand;
    strand.waiting_request = request;
  }
  if (latest != SimTime::never()) schedule_wake(strand, latest);
  strand.rank->world.executive.block();
  strand.awaits_any = false;
  strand.waiting_request = nullptr;
  for (RequestObject* request : requests) {
    if (request != nullptr) request->waiter = nullptr;
  }
}

size_t await_any(Strand& strand, std::span<RequestObject* const> requests) {
  const auto first_effect = [&requests]() -> size_t {
    size_t best = requests.size();
    for (size_t i = 0; i < requests.size(); ++i) {
      const RequestObject* request = requests[i];
      if (request == nullptr || !request->active || !request->complete) continue;
      if (best == requests.size() || request->ready < requests[best]->ready) best = i;
    }
    return best;
  };
  size_t best = first_effect();
  // Another request may turn out to have taken effect earlier than those that are complete.
  if (!all_complete(requests)) {
    sleep_until_effect(
        strand, requests,
        best < requests.size() ? later(requests[best]->ready, strand.now) : SimTime::never());
    best = first_effect();
  }
  CHECK(best < requests.size());
  if (requests[best]->ready > strand.now) {
    strand.waited += requests[best]->ready - strand.now;
    strand.now = requests[best]->ready;
  }
  strand.now += requests[best]->overhead();
  return best;
}

void schedule_wake(Strand& strand, SimTime time) {
  strand.wake.strand = &strand;
  strand.rank->world.executive.events().schedule(
      strand.wake, time,
      {pdes::EventClass::kWake, static_cast<uint32_t>(strand.rank->id), strand.number});
}

void yield_until_now(Strand& strand) {
  schedule_wake(strand, strand.now);
  strand.rank->world.executive.block();
}

void yield_until_known(Strand& strand, std::span<RequestObject* const> requests) {
  if (!all_complete(requests)) yield_until_now(strand);
}

bool have_taken_effect(Strand& strand, std::span<RequestObject* const> requests) {
  yield_until_known(strand, requests);
  return std::ranges::all_of(requests, [&strand](const RequestObject* request) {
    return request == nullptr || (request->complete && request->ready <= strand.now);
  });
}

bool has_taken_effect(Strand& strand, RequestObject& request) {
  RequestObject* const only = &request;
  if (have_taken_effect(strand, {&only, 1})) {
    strand.now += request.overhead();
    strand.idle_polls = 0;
    return true;
  }
  note_idle_poll(strand, {&only, 1});
  return false;
}

SimTime charge_idle_poll(Strand& strand) {
  // A few polls in a row without work between them: the program is waiting. It sleeps for a while
  // that grows with the time it has waited, so that what wakes it too late does so by little.
  constexpr int kPatience = 8;
  constexpr int64_t kShare = 64;
  if (strand.idle_polls == 0) strand.idle_since = strand.now;
  strand.now += kPollCost;
  if (++strand.idle_polls < kPatience) return strand.now;
  const SimTime waited = strand.now - strand.idle_since;
  return strand.now + SimTime::from_ps(waited.ps() / kShare);
}

void note_idle_poll(Strand& strand, std::span<RequestObject* const> requests) {
  const SimTime latest = charge_idle_poll(strand);
  if (latest <= strand.now) return;
  SimTime next = latest;
  for (const RequestObject* request : requests) {
    if (request == nullptr || !request->active || !request->complete) continue;
    if (request->ready > strand.now) next = std::min(next, request->ready);
  }
  sleep_until_effect(strand, requests, next);
  strand.waited += strand.wake.time() - strand.now;
  strand.now = strand.wake.time();
}

}  // namespace sesame::mpi
