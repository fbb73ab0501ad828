#include "core/mpi/rma/remote_target.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/transit.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/rma/lock_message.h"

namespace sesame::mpi {

// It shares cards: its arrival is known when the target's card has served it.
class ArrivingOperation::RequestTransit final : public OrderedTransit,
                                                public Pooled<RequestTransit> {
 public:
  RequestTransit(ArrivingOperation& operation, SharedWindow::Arrivals& arrivals)
      : operation_(operation), arrivals_(arrivals) {
    stay_behind(arrivals.last_in_transit);
    arrivals.last_in_transit = this;
  }

 private:
  void end_order() override { arrivals_.last_in_transit = nullptr; }
  void reach_target(SimTime arrival) override {
    arrivals_.last = later(arrivals_.last, arrival);
    operation_.world_.executive.events().schedule(operation_, arrivals_.last, operation_.order());
    delete this;
  }

  ArrivingOperation& operation_;
  SharedWindow::Arrivals& arrivals_;
};

// Its answer, until it has left the target's card.
class ArrivingOperation::ReplyTransit final : public network::Transit, public Pooled<ReplyTransit> {
 public:
  ReplyTransit(World& world, int origin, const ReplyFrame& frame, std::vector<char> data)
      : world_(world), origin_(origin), frame_(frame), data_(std::move(data)) {}

 private:
  bool hand_over(const network::Passage& passage) override {
    frame_.is_shipped = true;
    frame_.passage = passage;
    world_.remote_windows->answer(origin_, frame_, data_);
    delete this;
    return true;
  }
  void arrives(SimTime) override { CHECK(false); }

  World& world_;
  const int origin_;
  ReplyFrame frame_;
  std::vector<char> data_;
};

ArrivingOperation::ArrivingOperation(World& world, std::shared_ptr<SharedWindow> window,
                                     const OperationFrame& frame, std::span<const char> content)
    : world_(world),
      window_(std::move(window)),
      frame_(frame),
      ranges_(frame.ranges),
      data_(frame.data_bytes) {
  const size_t bytes = frame.ranges * sizeof(ByteRange);
  std::memcpy(ranges_.data(), content.data(), bytes);
  if (!data_.empty()) std::memcpy(data_.data(), content.data() + bytes, data_.size());
}

pdes::EventOrder ArrivingOperation::order() const {
  return {pdes::EventClass::kRemote, static_cast<uint32_t>(world_rank(frame_.origin)),
          frame_.order};
}

void ArrivingOperation::schedule(World& world, std::shared_ptr<SharedWindow> window,
                                 const OperationFrame& frame, std::span<const char> content) {
  auto& operation = *new ArrivingOperation(world, std::move(window), frame, content);
  if (!frame.is_shipped)
    return world.executive.events().schedule(operation, frame.arrival, operation.order());
  SharedWindow& shared = *operation.window_;
  auto* transit = new RequestTransit(operation, shared.arrivals[{frame.origin, frame.target}]);
  world.traffic->continue_at_receiver(*transit, operation.world_rank(frame.origin),
                                      operation.world_rank(frame.target), frame.data_bytes,
                                      frame.passage);
}

// The contents of the target's memory, packed.
std::vector<char> ArrivingOperation::gather() const {
  std::vector<char> packed;
  for (const ByteRange& range : ranges_) {
    const auto length = static_cast<size_t>(range.length);
    packed.resize(packed.size() + length);
    copy_bytes(packed.data() + packed.size() - length,
               reinterpret_cast<const char*>(frame_.address) + range.offset, length);
  }
  return packed;
}

void ArrivingOperation::scatter(const char* data, Count bytes) const {
  for (const ByteRange& range : ranges_) {
    const Count part = std::min(range.length, bytes);
    copy_bytes(reinterpret_cast<char*>(frame_.address) + range.offset, data,
               static_cast<size_t>(part));
    data += part;
    bytes -= part;
  }
}

void ArrivingOperation::accumulate(std::vector<char>& before) const {
  const auto bytes = static_cast<Count>(data_.size());
  if (bytes == 0 || frame_.op == MPI_NO_OP) return;
  if (frame_.op == MPI_REPLACE) return scatter(data_.data(), bytes);
  const DatatypeObject& element = *predefined_object(frame_.element);
  const Rank& target = *world_.ranks[static_cast<size_t>(world_rank(frame_.target))];
  std::vector<char> result = std::move(before);
  if (returns_data(frame_.kind)) before = result;
  combine_packed(data_.data(), result.data(), bytes / element.size(), element,
                 *target.ops.find(frame_.op));
  scatter(result.data(), bytes);
}

// `before`: the contents of the target's memory.
void ArrivingOperation::take_effect(std::vector<char>& before) const {
  using Kind = OperationKind;
  switch (frame_.kind) {
    case Kind::kGet:
      break;
    case Kind::kPut:
      scatter(data_.data(), static_cast<Count>(data_.size()));
      break;
    case Kind::kAccumulate:
    case Kind::kFetch:
      accumulate(before);
      break;
    case Kind::kCompareAndSwap:
      compare_and_swap(reinterpret_cast<char*>(frame_.address) + ranges_[0].offset, data_.data(),
                       before.size());
      break;
  }
}

void ArrivingOperation::record() const {
  record_access(
      world_, frame_.origin,
      MessageRecord{world_rank(frame_.origin), world_rank(frame_.target), 0, window_->context,
                    frame_.data_bytes, frame_.sent, time(), time(), Protocol::kPut});
}

void ArrivingOperation::send_reply(std::vector<char> before) {
  Rank& target = *world_.ranks[static_cast<size_t>(world_rank(frame_.target))];
  const int origin = world_rank(frame_.origin);
  const auto bytes = static_cast<uint64_t>(frame_.reply_bytes);
  const network::MessageCost cost = world_.network.rdma_cost(target.id, origin, bytes);
  const SimTime start = later(time(), target.answers_free);
  target.answers_free = start + cost.injection;
  ReplyFrame frame;
  frame.has_data = true;
  frame.effect = time();
  frame.sent = start;
  frame.back = start + cost.latency + cost.transfer;
  frame.operation = frame_.operation;
  if (world_.traffic == nullptr) return world_.remote_windows->answer(origin, frame, before);
  world_.traffic->start(*new ReplyTransit(world_, origin, frame, std::move(before)),
                        {.from = target.id,
                         .to = origin,
                         .bytes = bytes,
                         .start = start,
                         .number = next_reply_number(target),
                         .cost = cost});
}

void ArrivingOperation::fire() {
  using Kind = OperationKind;
  std::vector<char> before;
  if (frame_.kind != Kind::kPut) before = gather();
  take_effect(before);
  if (frame_.kind != Kind::kGet) wake_poller(world_, world_rank(frame_.target), time());
  if (!data_.empty()) record();
  if (returns_data(frame_.kind)) {
    send_reply(std::move(before));
  } else {
    ReplyFrame frame;
    frame.back = time() + frame_.acknowledgement;
    frame.operation = frame_.operation;
    world_.remote_windows->answer(world_rank(frame_.origin), frame, {});
  }
  delete this;
}

void ArrivingLock::schedule(World& world, std::shared_ptr<SharedWindow> window,
                            const LockDelivery& delivery, uint32_t order) {
  auto* lock = new ArrivingLock(world, std::move(window), delivery);
  world.executive.events().schedule(
      *lock, delivery.arrival,
      {pdes::EventClass::kRemote, static_cast<uint32_t>(delivery.claim.rank), order});
}

void ArrivingLock::fire() {
  deliver_lock(world_, *window_, delivery_);
  delete this;
}

std::shared_ptr<RemoteWindows> make_remote_windows(World& world) {
  const auto reply = [](const ReplyFrame& frame, std::span<const char> data) {
    frame.operation->take_reply(frame, data);
  };
  return std::make_shared<RemoteWindows>(
      world, RemoteWindows::Receivers{.operation = ArrivingOperation::schedule,
                                      .lock = ArrivingLock::schedule,
                                      .reply = reply,
                                      .grant = receive_grant});
}

}  // namespace sesame::mpi
