#include "core/mpi/messages/delivery.h"

#include <cstring>

#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/mismatch.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

// Sets the status and overhead of the receive of this message. Returns how many bytes fit; a longer
// message is truncated, which is an error of the receive.
Count accept(World& world, RequestObject& receive, const MessageEnvelope& message) {
  receive.status.MPI_SOURCE = message.source;
  receive.status.MPI_TAG = message.tag;
  const Count capacity = receive.bytes();
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

void move_direct(const Operation& send, RequestObject& receive, Count accepted) {
  if (accepted == 0 || !receive.carries_data) return;
  if (send.type->is_contiguous() && receive.type->is_contiguous()) {
    if (receive.buffer != send.buffer) {
      copy_bytes(receive.buffer, send.buffer, static_cast<size_t>(accepted));
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
    copy_bytes(receive.buffer, message.payload, static_cast<size_t>(accepted));
  } else {
    unpack_range(message.payload, receive.buffer, receive.count, *receive.type, 0, accepted);
  }
}

// Requests the injection of a rendezvous message whose send and receive are known. The data is
// ready when the receiver's clear-to-send has reached the sender. The interface completes both
// requests when it injects the data.
void inject_announced(World& world, int receiver, RequestObject& receive,
                      const MessageEnvelope& message) {
  const network::MessageCost cost =
      world.network.cost(message.source_world, receiver, message.bytes);
  SimTime posted = receive.posted;
  posted.depart({.rank = static_cast<uint32_t>(receiver), .kind = PathKind::kCall});
  const SimTime ready = later(message.arrival, posted) + cost.control_latency;
  const MessageRecord record{.source = message.source_world,
                             .destination = receiver,
                             .tag = message.tag,
                             .context = message.context,
                             .bytes = message.bytes,
                             .sent = message.sent,
                             .arrived = SimTime::zero(),
                             .received = SimTime::zero(),
                             .protocol = Protocol::kRendezvous};
  if (message.is_remote) return world.remote->clear_to_send(receive, message, record, ready);
  auto* injection = new Injection;
  injection->cost = cost;
  injection->ready = ready;
  injection->send = message.sender();
  injection->receive = &receive;
  injection->attached = message.attached();
  injection->record = record;
  world.ranks[static_cast<size_t>(message.source_world)]->interface.request(injection);
}

// Completes the send of a message that was received, or returns its space, when its sender knows.
void acknowledge(World& world, int receiver, const MessageEnvelope& message, SimTime received) {
  const network::MessageCost cost =
      world.network.cost(message.source_world, receiver, message.bytes);
  received.depart({.rank = static_cast<uint32_t>(receiver), .kind = PathKind::kCall});
  const SimTime known = received + cost.control_latency;
  if (message.completes_send()) {
    message.is_remote ? world.remote->acknowledge(message, known)
                      : complete(*message.sender(), known);
  } else {
    message.is_remote
        ? world.remote->release_buffer(message, known)
        : release_buffer(*message.attached(), static_cast<Count>(message.bytes), known);
  }
}

// Completes both requests of a matched message whose data has been copied.
void complete_matched(World& world, int receiver, RequestObject& receive,
                      const MessageEnvelope& message) {
  if (message.rendezvous) return inject_announced(world, receiver, receive, message);
  // No later(): the strand that waits compares with its own time, which is past `posted`.
  const SimTime& received = message.arrival < receive.posted ? receive.posted : message.arrival;
  if (message.origin != nullptr) acknowledge(world, receiver, message, received);
  if (world.recorder != nullptr) {
    world.recorder->record(MessageRecord{
        message.source_world, receiver, message.tag, message.context, message.bytes, message.sent,
        message.arrival, received + receive.overhead(), Protocol::kEager});
  }
  complete(receive, received);
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
  if (message.arrival < channel.last_arrival) message.arrival = channel.last_arrival;
  channel.last_arrival = message.arrival;
  RequestObject* receive = matching.match_posted_receive(channel, message.tag);
  if (matching.has_expected()) [[unlikely]]
    return matching.match_expected(message, receive);
  return receive;
}

void reach_queue(World& world, int target, QueuedMessage* message) {
  Matching& matching = world.matching_of(target);
  Channel& channel = matching.channel(message->context, message->source);
  if (RequestObject* receive = arrive(world, matching, channel, *message)) {
    deliver(world, target, *receive, message);
  } else {
    matching.enqueue(channel, message);
  }
}

void deliver_to_posted(World& world, int receiver, RequestObject& receive,
                       const MessageEnvelope& message, const Operation& send) {
  __builtin_prefetch(receive.buffer, 1);
  __builtin_prefetch(receive.waiter, 1);
  move_direct(send, receive, accept(world, receive, message));
  complete_matched(world, receiver, receive, message);
}

void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message) {
  move_queued(*message, receive, accept(world, receive, *message));
  if (message->sender() != nullptr) message->sender()->queued = nullptr;
  if (message->rendezvous && !message->is_remote) {
    world.ranks[static_cast<size_t>(message->source_world)]->interface.withdraw_announcement();
  }
  complete_matched(world, receiver, receive, *message);
  delete message;
}

}  // namespace sesame::mpi
