#include "core/mpi/messages/worker_messages.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/base/spelling.h"
#include "core/mpi/call_ids.h"
#include "core/mpi/messages/buffered.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/transit.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/pack.h"
#include "core/network/node_division.h"
#include "core/network/traffic.h"

namespace sesame::mpi {

// What every frame begins with; a message's data follows. Times in ps.
struct WorkerMessages::Frame {
  enum class Kind : uint8_t {
    kMessage,
    kAcknowledgement,
    kRelease,
    kClearance,
    kData,
    kModule,
    kInterface,
    kWalk
  };

  Kind kind = Kind::kMessage;
  bool rendezvous = false;
  bool is_buffered = false;
  bool has_data = false;
  bool is_shipped = false;  // shares cards: `passage` says where it is
  Module module{};
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
  uint64_t send = 0;         // MessageEnvelope::origin
  uint64_t receive = 0;      // the receiver's Expected
  network::Passage passage;  // last: only frames with `is_shipped` have it

  void set(const network::Passage& where) {
    is_shipped = true;
    time_ps = where.head_ps;
    passage = where;
  }
  size_t size() const { return is_shipped ? sizeof(Frame) : offsetof(Frame, passage); }
  std::span<const char> head() const { return {reinterpret_cast<const char*>(this), size()}; }
};

// A receive that waits for the data of a rendezvous of another worker.
struct WorkerMessages::Expected {
  RequestObject* receive;
  MessageRecord record;
};

// Its data, if that shares cards with other messages.
class WorkerMessages::ExpectedTransit final : public network::Transit,
                                              public Pooled<ExpectedTransit> {
 public:
  ExpectedTransit(WorkerMessages& owner, std::unique_ptr<Expected> expected)
      : owner_(owner), expected_(std::move(expected)) {}

 private:
  void arrives(SimTime time) override {
    owner_.finish(std::move(expected_), time);
    delete this;
  }

  WorkerMessages& owner_;
  std::unique_ptr<Expected> expected_;
};

namespace {

uint64_t number_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
RequestObject& request_of(uint64_t number) {
  return *reinterpret_cast<RequestObject*>(static_cast<uintptr_t>(number));
}

AttachedBuffer& buffer_of(uint64_t number) {
  return *reinterpret_cast<AttachedBuffer*>(static_cast<uintptr_t>(number));
}

bool is_refused(CallId call) {
  switch (call) {
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
                               Refuse refuse, Refuse end_run, pdes::Worker::Take take_any)
    : RemoteRanks(std::move(workers), worker.number()),
      world_(world),
      worker_(worker),
      refuse_(std::move(refuse)),
      end_run_(std::move(end_run)),
      take_any_(std::move(take_any)) {
  if (world_.traffic != nullptr) divide_traffic();
}

// A link belongs to the worker of the node at which it begins.
void WorkerMessages::divide_traffic() {
  const int together = world_.traffic->nodes_choosing_together();
  std::vector<int> workers(static_cast<size_t>(world_.network.nodes()), -1);
  for (int rank = 0; rank < world_.size(); ++rank) {
    const int first = world_.network.node_of(rank) / together * together;
    const int end = std::min(first + together, world_.network.nodes());
    std::fill(workers.begin() + first, workers.begin() + end, worker_of(rank));
  }
  world_.traffic->divide_among_processes(
      network::divide_nodes(std::move(workers), worker_.memory().workers()), worker_.number(),
      [this](int worker, const network::Walk& walk) { send_walk(worker, walk); });
}

void WorkerMessages::send_walk(int worker, const network::Walk& walk) {
  Frame frame;
  frame.kind = Frame::Kind::kWalk;
  frame.target = walk.to;
  frame.source_world = walk.from;
  frame.bytes = walk.bytes;
  frame.receive = walk.transit;
  frame.set(walk.passage);
  worker_.send(worker, frame.head(), {});
}

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
  worker_.send(worker_of(target), frame.head(), data);
  world_.executive.prefer_current();
}

void WorkerMessages::send(int target, const MessageEnvelope& message, const Data& data,
                          const network::Passage* passage) {
  Frame frame;
  frame.rendezvous = message.rendezvous;
  frame.is_buffered = message.is_buffered;
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
  frame.send = number_of(message.origin);
  if (passage != nullptr) frame.set(*passage);
  post_with_data(target, frame, data);
}

void WorkerMessages::post_with_data(int target, Frame& frame, const Data& data) {
  const auto size = static_cast<size_t>(frame.bytes);
  const Operation* send = data.send;
  frame.has_data = size > 0 && (data.packed != nullptr || (send != nullptr && send->carries_data));
  if (!frame.has_data) return post(target, frame);
  if (data.packed != nullptr) return post(target, frame, {data.packed, size});
  if (send->type->is_contiguous() && !is_remote(send->buffer))
    return post(target, frame, {static_cast<const char*>(send->buffer), size});
  const std::unique_ptr<char[]> packed(new char[size]);
  pack_all(send->buffer, send->count, *send->type, packed.get());
  post(target, frame, {packed.get(), size});
}

void WorkerMessages::acknowledge(const MessageEnvelope& message, const SimTime& time) {
  Frame frame;
  frame.kind = Frame::Kind::kAcknowledgement;
  frame.send = number_of(message.origin);
  frame.time_ps = time.ps();
  post(message.source_world, frame);
}

void WorkerMessages::release_buffer(const MessageEnvelope& message, const SimTime& time) {
  Frame frame;
  frame.kind = Frame::Kind::kRelease;
  frame.send = number_of(message.origin);
  frame.bytes = message.bytes;
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
  frame.is_buffered = message.is_buffered;
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

void WorkerMessages::send_data(int target, uint64_t receive, const network::Passage& passage) {
  Frame frame;
  frame.kind = Frame::Kind::kData;
  frame.receive = receive;
  frame.set(passage);
  post(target, frame);
}

void WorkerMessages::post(Module module, int target, std::span<const char> head,
                          std::span<const char> data) {
  if (announces_sends_) {
    refuse_(
        this_rank().name() + ": one-sided communication is not simulated with null messages yet",
        "use the protocol quantum or conditional");
  }
  Frame frame;
  frame.kind = Frame::Kind::kModule;
  frame.module = module;
  std::string whole(head.data(), head.size());
  whole.append(data.data(), data.size());
  post(target, frame, whole);
}

void WorkerMessages::catch_up() { worker_.take_frames(take_any_); }

void WorkerMessages::tell_files(std::span<const char> change) {
  worker_.broadcast(pdes::FrameSubject::kOpenFiles, change);
}

void WorkerMessages::interface_reserved(int rank, const SimTime& free) {
  Frame frame;
  frame.kind = Frame::Kind::kInterface;
  frame.target = rank;
  frame.time_ps = free.ps();
  for (int worker = 0; worker < worker_.memory().workers(); ++worker)
    if (worker != worker_.number()) worker_.send(worker, frame.head(), {});
}

void WorkerMessages::take(std::span<const char> bytes) {
  Frame frame;
  CHECK(bytes.size() >= offsetof(Frame, passage));
  std::memcpy(&frame, bytes.data(), offsetof(Frame, passage));
  if (frame.is_shipped) {
    CHECK(bytes.size() >= sizeof frame);
    std::memcpy(&frame.passage, bytes.data() + offsetof(Frame, passage), sizeof frame.passage);
  }
  switch (frame.kind) {
    case Frame::Kind::kMessage:
      return take_message(frame, bytes.subspan(frame.size()));
    case Frame::Kind::kAcknowledgement:
      return complete(request_of(frame.send), SimTime::from_ps(frame.time_ps));
    case Frame::Kind::kRelease:
      return mpi::release_buffer(buffer_of(frame.send), static_cast<Count>(frame.bytes),
                                 SimTime::from_ps(frame.time_ps));
    case Frame::Kind::kClearance:
      return take_clearance(frame);
    case Frame::Kind::kData:
      return take_data(frame);
    case Frame::Kind::kModule:
      return taker(frame.module)(bytes.subspan(frame.size()));
    case Frame::Kind::kInterface:
      world_.ranks[static_cast<size_t>(frame.target)]->interface.free() =
          SimTime::from_ps(frame.time_ps);
      return;
    case Frame::Kind::kWalk:
      return world_.traffic->take_walk({.passage = frame.passage,
                                        .from = frame.source_world,
                                        .to = frame.target,
                                        .bytes = frame.bytes,
                                        .transit = frame.receive});
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
  message->is_buffered = frame.is_buffered;
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
  if (frame.is_shipped)
    return continue_shared_message(world_, frame.target, message, frame.passage);
  if (world_.traffic != nullptr && is_behind_others(world_, frame.target, *message))
    return send_shared_request(world_, frame.target, message);
  reach_queue(world_, frame.target, message);
}

// The receive of an announced message is known: its data is injected when its turn comes.
void WorkerMessages::take_clearance(const Frame& frame) {
  auto* injection = new Injection;
  injection->ready = SimTime::from_ps(frame.time_ps);
  injection->cost = world_.network.cost(frame.source_world, frame.target, frame.bytes);
  if (frame.is_buffered) {
    injection->attached = &buffer_of(frame.send);
  } else {
    injection->send = &request_of(frame.send);
  }
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
  std::unique_ptr<Expected> expected(
      reinterpret_cast<Expected*>(static_cast<uintptr_t>(frame.receive)));
  if (!frame.is_shipped) return finish(std::move(expected), SimTime::from_ps(frame.time_ps));
  const MessageRecord record = expected->record;
  world_.traffic->continue_at_receiver(*new ExpectedTransit(*this, std::move(expected)),
                                       record.source, record.destination, record.bytes,
                                       frame.passage);
}

void WorkerMessages::finish(std::unique_ptr<Expected> expected, const SimTime& arrival) {
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

// A thread may begin to call later, with a clock before those of its rank's other threads.
void WorkerMessages::check_thread() const {
  if (refuses_threads_)
    refuse_(this_rank().name() + ": calls from several threads are not simulated with " +
                spelled("--sources", "sources") + " yet",
            "leave it out");
  if (!announces_sends_) return;
  refuse_(
      this_rank().name() + ": calls from several threads are not simulated with null messages yet",
      "use the protocol quantum or conditional");
}

void WorkerMessages::refuse(const std::string& what) const {
  refuse_(this_rank().name() + ": " + what + " is not simulated with several workers yet", "");
  __builtin_unreachable();
}

void WorkerMessages::end_run(const std::string& why, const std::string& hint) const {
  end_run_(why, hint);
  __builtin_unreachable();
}

void WorkerMessages::refuse_on_several_hosts(const std::string& what) const {
  refuse_(this_rank().name() + ": " + what + " is not simulated by several hosts yet",
          std::string("leave out ") + spelled("--hosts", "hosts"));
  __builtin_unreachable();
}

}  // namespace sesame::mpi
