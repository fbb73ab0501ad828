#include "core/mpi/messages/worker_messages.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/call_ids.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

// What every frame begins with; a message's data follows. Times in ps.
struct WorkerMessages::Frame {
  enum class Kind : uint8_t { kMessage, kAcknowledgement, kClearance, kData };

  Kind kind = Kind::kMessage;
  bool rendezvous = false;
  bool has_data = false;
  int32_t target = 0;  // the rank that the frame is for
  int32_t source = 0;  // of the message: the rank in its sender's group
  int32_t source_world = 0;
  int32_t tag = 0;
  uint32_t context = 0;
  SignatureId signature = 0;
  uint64_t bytes = 0;  // of the message
  int64_t sent_ps = 0;
  int64_t time_ps = 0;  // of the effect
  int64_t receive_overhead_ps = 0;
  uint64_t send = 0;     // the sender's request
  uint64_t receive = 0;  // the receiver's Expected
};

namespace {

// A receive that waits for the data of a rendezvous of another worker.
struct Expected {
  RequestObject* receive;
  MessageRecord record;
};

uint64_t number_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
RequestObject& request_of(uint64_t number) {
  return *reinterpret_cast<RequestObject*>(static_cast<uintptr_t>(number));
}

bool is_refused(CallId call) {
  switch (call) {
    case CallId::Win_create:
    case CallId::Win_allocate:
    case CallId::Win_allocate_shared:
    case CallId::Win_create_dynamic:
    case CallId::File_open:
    case CallId::File_delete:
    case CallId::Comm_spawn:
    case CallId::Comm_spawn_multiple:
    case CallId::Open_port:
    case CallId::Comm_accept:
    case CallId::Comm_connect:
    case CallId::Comm_join:
    case CallId::Publish_name:
    case CallId::Lookup_name:
      return true;
    default:
      return false;
  }
}

}  // namespace

WorkerMessages::WorkerMessages(World& world, pdes::Worker& worker, std::vector<int> workers,
                               Refuse refuse)
    : RemoteRanks(std::move(workers), worker.number()),
      world_(world),
      worker_(worker),
      refuse_(std::move(refuse)) {}

// Answers to messages are sent from the time at which their receive was posted.
static SimTime next_send_of(const Rank& rank) {
  if (rank.interface.has_contenders() || rank.matching.has_any_source()) return SimTime::zero();
  SimTime next = rank.main.ended ? SimTime::never() : rank.main.now;
  rank.matching.visit_channels([&](const Channel& channel) {
    if (channel.first_receive != nullptr) next = std::min(next, channel.first_receive->posted);
  });
  return next;
}

SimTime WorkerMessages::next_send() const {
  SimTime next = SimTime::never();
  for (const auto& rank : world_.ranks)
    if (is_here(rank->id)) next = std::min(next, next_send_of(*rank));
  return next;
}

void WorkerMessages::post(int target, const Frame& frame, std::span<const char> data) {
  static_assert(std::is_trivially_copyable_v<Frame>);
  CHECK(frame.time_ps >= worker_.state().workers[worker_.number()].output_ps);  // as announced
  worker_.send(worker_of(target), {reinterpret_cast<const char*>(&frame), sizeof frame}, data);
}

void WorkerMessages::send(int target, const MessageEnvelope& message, const Operation& send,
                          const RequestObject* request) {
  if (send.mode == Operation::Mode::kBuffered)
    refuse("a buffered send to a rank of another worker");
  Frame frame;
  frame.rendezvous = message.rendezvous;
  frame.target = target;
  frame.source = message.source;
  frame.source_world = message.source_world;
  frame.tag = message.tag;
  frame.context = message.context;
  frame.signature = is_universal(message.signature) ? message.signature : kAnySignature;
  frame.bytes = message.bytes;
  frame.sent_ps = message.sent.ps();
  frame.time_ps = message.arrival.ps();
  frame.receive_overhead_ps = message.receive_overhead.ps();
  if (message.rendezvous || send.mode == Operation::Mode::kSynchronous)
    frame.send = number_of(request);
  frame.has_data = message.bytes > 0 && send.carries_data;
  if (!frame.has_data) return post(target, frame);
  const auto size = static_cast<size_t>(message.bytes);
  if (send.type->is_contiguous()) {
    return post(target, frame, {static_cast<const char*>(send.buffer), size});
  }
  const std::unique_ptr<char[]> packed(new char[size]);
  pack_all(send.buffer, send.count, *send.type, packed.get());
  post(target, frame, {packed.get(), size});
}

void WorkerMessages::acknowledge(const MessageEnvelope& message, const SimTime& time) {
  Frame frame;
  frame.kind = Frame::Kind::kAcknowledgement;
  frame.send = number_of(message.origin);
  frame.time_ps = time.ps();
  post(message.source_world, frame);
}

void WorkerMessages::clear_to_send(RequestObject& receive, const MessageEnvelope& message,
                                   const MessageRecord& record, const SimTime& ready) {
  Frame frame;
  frame.kind = Frame::Kind::kClearance;
  frame.target = record.destination;
  frame.source_world = record.source;
  frame.tag = record.tag;
  frame.context = record.context;
  frame.bytes = record.bytes;
  frame.sent_ps = record.sent.ps();
  frame.time_ps = ready.ps();
  frame.send = number_of(message.origin);
  frame.receive = number_of(new Expected{&receive, record});
  post(record.source, frame);
}

void WorkerMessages::send_data(int target, uint64_t receive, const SimTime& arrival) {
  Frame frame;
  frame.kind = Frame::Kind::kData;
  frame.receive = receive;
  frame.time_ps = arrival.ps();
  post(target, frame);
}

void WorkerMessages::take(std::span<const char> bytes) {
  Frame frame;
  CHECK(bytes.size() >= sizeof frame);
  std::memcpy(&frame, bytes.data(), sizeof frame);
  switch (frame.kind) {
    case Frame::Kind::kMessage:
      return take_message(frame, bytes.subspan(sizeof frame));
    case Frame::Kind::kAcknowledgement:
      return complete(request_of(frame.send), SimTime::from_ps(frame.time_ps));
    case Frame::Kind::kClearance:
      return take_clearance(frame);
    case Frame::Kind::kData:
      return take_data(frame);
  }
}

void WorkerMessages::take_message(const Frame& frame, std::span<const char> data) {
  auto* message = new QueuedMessage;
  message->context = frame.context;
  message->source = frame.source;
  message->tag = frame.tag;
  message->source_world = frame.source_world;
  message->bytes = frame.bytes;
  message->rendezvous = frame.rendezvous;
  message->is_remote = 1;
  message->sent = SimTime::from_ps(frame.sent_ps);
  message->arrival = SimTime::from_ps(frame.time_ps);
  message->receive_overhead = SimTime::from_ps(frame.receive_overhead_ps);
  message->signature = frame.signature;
  message->origin = reinterpret_cast<void*>(static_cast<uintptr_t>(frame.send));
  if (frame.has_data) {
    message->payload = data.size() <= QueuedMessage::kInlineBytes ? message->inline_payload
                                                                  : new char[data.size()];
    std::memcpy(message->payload, data.data(), data.size());
  }
  Matching& matching = world_.matching_of(frame.target);
  Channel& channel = matching.channel(message->context, message->source);
  if (RequestObject* receive = arrive(world_, matching, channel, *message)) {
    deliver(world_, frame.target, *receive, message);
  } else {
    matching.enqueue(channel, message);
  }
}

// The receive of an announced message is known: its data is injected when its turn comes.
void WorkerMessages::take_clearance(const Frame& frame) {
  auto* injection = new Injection;
  injection->ready = SimTime::from_ps(frame.time_ps);
  injection->cost = world_.network.cost(frame.source_world, frame.target, frame.bytes);
  injection->send = &request_of(frame.send);
  injection->remote_receive = frame.receive;
  injection->record.source = frame.source_world;
  injection->record.destination = frame.target;
  injection->record.tag = frame.tag;
  injection->record.context = frame.context;
  injection->record.bytes = frame.bytes;
  injection->record.sent = SimTime::from_ps(frame.sent_ps);
  Interface& interface = world_.ranks[static_cast<size_t>(frame.source_world)]->interface;
  interface.withdraw_announcement();
  interface.request(injection);
}

void WorkerMessages::take_data(const Frame& frame) {
  const std::unique_ptr<Expected> expected(
      reinterpret_cast<Expected*>(static_cast<uintptr_t>(frame.receive)));
  const SimTime arrival = SimTime::from_ps(frame.time_ps);
  RequestObject& receive = *expected->receive;
  const SimTime received = later(arrival, receive.posted);
  expected->record.arrived = arrival;
  expected->record.received = received + receive.overhead();
  if (world_.recorder != nullptr) world_.recorder->record(expected->record);
  complete(receive, received);
}

void WorkerMessages::check_call(uint16_t call) const {
  const auto id = static_cast<CallId>(call);
  if (is_refused(id)) refuse(call_name(id));
}

void WorkerMessages::refuse(const std::string& what) const {
  refuse_(this_rank().name() + ": " + what + " is not simulated with several workers yet");
  __builtin_unreachable();
}

}  // namespace sesame::mpi
