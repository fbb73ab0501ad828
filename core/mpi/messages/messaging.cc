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

// Simulated cost of a poll that finds nothing. MPI_Test of MPICH 4.0 took 40 to 120 ns on the
// machines this was written on.
constexpr SimTime kPollCost = SimTime::from_ns(100);

// The buffer in which a buffered send reserved space, no longer owned by the send; null for others.
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

// Sets the status and overhead of the receive of this message. Returns how many bytes fit; a longer
// message is truncated, which is an error of the receive.
Count accept(World& world, RequestObject& receive, const MessageEnvelope& message) {
  receive.status.MPI_SOURCE = message.source;
  receive.status.MPI_TAG = message.tag;
  const Count capacity = bytes_of(receive);
  Count accepted = static_cast<Count>(message.bytes);
  if (accepted > capacity) [[unlikely]] {
    receive.error = MPI_ERR_TRUNCATE;
    explain_truncation(receive, message.bytes);
    accepted = capacity;
  }
  receive.status.count_lo = 0;
  receive.status.count_hi_and_cancelled = 0;
  receive.status.set_byte_count(accepted);
  receive.receive_overhead = message.receive_overhead;
  check_types(world, receive, message.signature, accepted);
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

// Requests the injection of a rendezvous message whose send and receive are known. The data is
// ready when the receiver's clear-to-send has reached the sender. The interface completes both
// requests when it injects the data.
void inject_announced(World& world, int receiver, RequestObject& receive,
                      const MessageEnvelope& message) {
  Rank& sender = *world.ranks[static_cast<size_t>(message.source_world)];
  auto* injection = new Injection;
  injection->cost = world.network.cost(sender.id, receiver, message.bytes);
  injection->ready = later(message.arrival, receive.posted) + injection->cost.control_latency;
  injection->send = message.sender();
  injection->receive = &receive;
  injection->attached = message.attached();
  injection->record = {.source = sender.id,
                       .destination = receiver,
                       .tag = message.tag,
                       .context = message.context,
                       .bytes = message.bytes,
                       .sent = message.sent,
                       .arrived = SimTime::zero(),
                       .received = SimTime::zero(),
                       .rendezvous = true};
  sender.interface.request(injection);
}

// Completes both requests of a matched message whose data has been copied.
void complete_matched(World& world, int receiver, RequestObject& receive,
                      const MessageEnvelope& message) {
  if (message.rendezvous) return inject_announced(world, receiver, receive, message);
  const SimTime received = later(message.arrival, receive.posted);
  if (RequestObject* send = message.sender()) {
    const network::MessageCost cost =
        world.network.cost(message.source_world, receiver, message.bytes);
    complete(*send, received + cost.control_latency);
  }
  record_message(world,
                 {message.source_world, receiver, message.tag, message.context, message.bytes,
                  message.sent, message.arrival, received + receive.overhead(), false});
  if (AttachedBuffer* attached = message.attached()) {
    release_buffer(*attached, static_cast<Count>(message.bytes), received);
  }
  complete(receive, received);
}

// Delivers to a receive that was posted first: copies from the sender's buffer to the receiver's.
void deliver_to_posted(World& world, int receiver, RequestObject& receive,
                       const MessageEnvelope& message, const RequestObject& send) {
  __builtin_prefetch(receive.buffer, 1);
  __builtin_prefetch(receive.waiter, 1);
  move_direct(send, receive, accept(world, receive, message));
  complete_matched(world, receiver, receive, message);
}

MessageEnvelope envelope_of(const Rank& sender, const RequestObject& send,
                            const network::MessageCost& cost, SimTime sent, SimTime arrival) {
  MessageEnvelope envelope;
  envelope.context = send.context;
  envelope.source = send.comm->rank;
  envelope.tag = send.tag;
  envelope.source_world = sender.id;
  envelope.bytes = static_cast<uint64_t>(bytes_of(send));
  envelope.rendezvous = cost.rendezvous;
  envelope.sent = sent;
  envelope.arrival = arrival;
  envelope.receive_overhead = cost.receive_overhead;
  envelope.signature = send.type->signature();
  return envelope;
}

void copy_payload(QueuedMessage& message, const RequestObject& send) {
  if (message.bytes == 0 || !send.carries_data) return;
  message.payload = message.bytes <= QueuedMessage::kInlineBytes ? message.inline_payload
                                                                 : new char[message.bytes];
  pack_payload(send, message.payload, static_cast<Count>(message.bytes));
}

// Whether the message may be delivered later, in a batch with others (in_flight.h): it is small and
// its send is complete at once, so that nothing waits for its match.
bool can_defer_delivery(const MessageEnvelope& message, const RequestObject& send) {
  return !message.rendezvous && message.bytes <= QueuedMessage::kInlineBytes &&
         (send.mode == RequestObject::Mode::kStandard || send.mode == RequestObject::Mode::kReady);
}

void deliver_at_once(Rank& sender, const Route& route, MessageEnvelope& message,
                     RequestObject& send) {
  if (send.mode == RequestObject::Mode::kBuffered) {
    message.set_attached(take_attached(send));
  } else if (message.rendezvous || send.mode == RequestObject::Mode::kSynchronous) {
    message.set_sender(send);
  }
  World& world = sender.world;
  world.in_flight.deliver_all();
  Matching& matching = world.matching_of(route.target);
  Channel& channel = matching.channel(message.context, message.source);
  if (RequestObject* receive = arrive(world, matching, channel, message)) {
    return deliver_to_posted(world, route.target, *receive, message, send);
  }
  auto* queued = new QueuedMessage(message);
  if (message.sender() != nullptr) {
    send.queued = queued;
  } else {
    copy_payload(*queued, send);
  }
  if (message.rendezvous) {
    sender.interface.announce(message.arrival + route.cost.control_latency);
  }
  matching.enqueue(channel, queued);
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

RequestObject* arrive(World& world, Matching& matching, Channel& channel,
                      MessageEnvelope& message) {
  count_message(world, channel, message.source_world, message.bytes);
  message.arrival = later(message.arrival, channel.last_arrival);
  channel.last_arrival = message.arrival;
  return matching.match_posted_receive(channel, message.context, message.tag);
}

Route route_of(const Strand& strand, const RequestObject& send) {
  if (send.peer == MPI_PROC_NULL) return {};
  const int target = (*send.comm->remote)[send.peer];
  return {target, strand.rank->world.network.cost(strand.rank->id, target,
                                                  static_cast<uint64_t>(bytes_of(send)))};
}

bool completes_on_post(const Route& route, const RequestObject& send) {
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
  SimTime arrival = strand.now + cost.control_latency;
  if (!cost.rendezvous) {
    const SimTime start = rank.interface.reserve(strand.now, cost.injection);
    arrival = start + cost.latency + cost.transfer;
  }
  MessageEnvelope message = envelope_of(rank, request, cost, strand.now, arrival);
  if (can_defer_delivery(message, request)) {
    auto* deferred = new QueuedMessage(message);
    copy_payload(*deferred, request);
    rank.world.in_flight.add(route.target, deferred);
  } else {
    deliver_at_once(rank, route, message, request);
  }
  if (completes_on_post(route, request)) complete(request, strand.now);
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

void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message) {
  move_queued(*message, receive, accept(world, receive, *message));
  if (message->sender() != nullptr) message->sender()->queued = nullptr;
  if (message->rendezvous) {
    world.ranks[static_cast<size_t>(message->source_world)]->interface.withdraw_announcement();
  }
  complete_matched(world, receiver, receive, *message);
  delete message;
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

// Prefetches what each return to the program and its next call will use.
static void prefetch_for_return(Strand& strand, const RequestObject& request) {
  strand.prefetch_on_resume(request.comm);
  strand.prefetch_on_resume(&request.comm->remote);
  strand.prefetch_on_resume(strand.caller);
}

void await(Strand& strand, RequestObject& request) {
  if (!request.complete) {
    request.waiter = &strand;
    strand.outstanding = 1;
    strand.waiting_request = &request;
    strand.awaits_helper = request.kind == RequestObject::Kind::kCollective;
    prefetch_for_return(strand, request);
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
    strand.prefetch_on_resume(request);
    strand.prefetch_on_resume(&request->status);
    strand.awaits_helper |= request->kind == RequestObject::Kind::kCollective;
    ++outstanding;
  }
  if (outstanding > 0) {
    strand.outstanding = outstanding;
    prefetch_for_return(strand, *strand.waiting_request);
    strand.rank->world.executive.block();
    strand.waiting_request = nullptr;
  }
  // Charges the overhead of each request in the order in which they take effect.
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

// Blocks until one of the incomplete requests has taken effect, but until `latest` at most. All
// effects up to the time of resuming are known then.
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
  // A request that is not complete yet may turn out to take effect before those that are.
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
  wait_after_idle_poll(strand, {&only, 1});
  return false;
}

SimTime charge_idle_poll(Strand& strand) {
  // A program that polls again and again without work between the polls is waiting. A wait of one
  // second would take 10^7 polls. The simulator therefore lets it sleep between polls, for 1/64 of
  // the time since the first poll. The program notices what it waits for at most 1.6 % of the wait
  // too late. The number of polls grows with the logarithm of the wait: each poll makes the wait
  // 65/64 as long, so one second takes some 500 polls that sleep. The first 4,096 polls never
  // sleep, since programs also poll between steps of little work: HPC Challenge's RandomAccess
  // polls before each update, up to 3,918 times until its first send. Sleep there would multiply
  // its time by (65/64)^3918.
  constexpr int kPollsWithoutSleep = 4096;
  constexpr int64_t kSleepDivisor = 64;
  if (strand.idle_polls == 0) strand.idle_since = strand.now;
  strand.now += kPollCost;
  if (++strand.idle_polls < kPollsWithoutSleep) return strand.now;
  const SimTime waited = strand.now - strand.idle_since;
  return strand.now + SimTime::from_ps(waited.ps() / kSleepDivisor);
}

void wait_after_idle_poll(Strand& strand, std::span<RequestObject* const> requests) {
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
