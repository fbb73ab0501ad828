#include "core/mpi/rma/operation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/transit.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/pack.h"
#include "core/mpi/rma/remote_windows.h"

namespace sesame::mpi {

RemoteOperation::RemoteOperation(WindowObject& window, Kind kind, int target)
    : window_(window), kind_(kind), target_(target) {
  retain(&window_);
}

RemoteOperation::~RemoteOperation() { release(&window_); }

// The operation on its way to the target, and its data on the way back, if they share cards or
// links with other messages.
class RemoteOperation::RequestTransit final : public OrderedTransit, public Pooled<RequestTransit> {
 public:
  RequestTransit(RemoteOperation& operation, TargetState& target, pdes::EventOrder order)
      : operation_(operation), target_(target), order_(order) {
    stay_behind(target.last_in_transit);
    target.last_in_transit = this;
  }

 protected:
  bool hand_over(const network::Passage& passage) override {
    WindowObject& window = operation_.window_;
    if (window.rank.world.is_here(window.world_rank(operation_.target_))) return false;
    passage_ = passage;
    arrives(passage.head());
    return true;
  }

 private:
  void end_order() override { target_.last_in_transit = nullptr; }
  void reach_target(SimTime arrival) override {
    if (passage_) {
      operation_.send_away(order_.number, arrival, &*passage_);
      delete this;
      return;
    }
    target_.last_arrival = later(target_.last_arrival, arrival);
    World& world = operation_.window_.rank.world;
    world.executive.events().schedule(operation_, target_.last_arrival, order_);
    delete this;
  }

  RemoteOperation& operation_;
  TargetState& target_;
  const pdes::EventOrder order_;
  std::optional<network::Passage> passage_;  // if the target is of another worker
};

class RemoteOperation::ReplyTransit final : public network::Transit, public Pooled<ReplyTransit> {
 public:
  ReplyTransit(RemoteOperation& operation, SimTime effect, SimTime sent)
      : operation_(operation), effect_(effect), sent_(sent) {}

 private:
  void arrives(SimTime time) override {
    operation_.receive_reply(effect_, sent_, time);
    delete this;
  }

  RemoteOperation& operation_;
  const SimTime effect_;
  const SimTime sent_;
};

void RemoteOperation::copy_data(const void* address, Count count, const DatatypeObject& type) {
  data_bytes_ = count * type.size();
  data_ = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(data_bytes_));
  pack_all(address, count, type, data_.get());
}

pdes::EventOrder next_remote_order(Rank& rank) {
  return {pdes::EventClass::kRemote, static_cast<uint32_t>(rank.id), rank.remote_operations++};
}

void RemoteOperation::issue(Strand& strand, std::unique_ptr<RemoteOperation> owned,
                            RequestObject* request) {
  RemoteOperation& operation = *owned.release();
  WindowObject& window = operation.window_;
  Rank& rank = *strand.rank;
  operation.check_that_target_has_element();
  const network::MessageCost cost = rank.world.network.rdma_cost(
      rank.id, window.world_rank(operation.target_), static_cast<uint64_t>(operation.data_bytes_));
  strand.now += cost.send_overhead;
  const SimTime start = rank.interface.inject(strand, cost.injection);
  operation.sent_ = plain(strand.now);
  operation.acknowledgement_ = cost.control_latency;
  TargetState& target = window.targets[operation.target_];
  ++target.incomplete;
  ++window.incomplete;
  operation.request_ = request;
  if (returns_data(operation.kind_)) {
    ++target.awaiting_reply;
    ++window.awaiting_reply;
  } else {
    target.complete_locally = later(target.complete_locally, start + cost.injection);
    window.complete_locally = later(window.complete_locally, target.complete_locally);
    if (request != nullptr) complete(*request, start + cost.injection);
  }
  const pdes::EventOrder order = next_remote_order(rank);
  const int to = window.world_rank(operation.target_);
  network::Traffic* const traffic = network::shared_between(rank.world.traffic.get(), rank.id, to);
  if (traffic != nullptr) {
    return traffic->start(*new RequestTransit(operation, target, order),
                          {.from = rank.id,
                           .to = to,
                           .bytes = static_cast<uint64_t>(operation.data_bytes_),
                           .start = start,
                           .number = rank.interface.injections(),
                           .cost = cost});
  }
  target.last_arrival = later(target.last_arrival, start + cost.latency + cost.transfer);
  if (!rank.world.is_here(to))
    return operation.send_away(order.number, target.last_arrival, nullptr);
  rank.world.executive.events().schedule(operation, target.last_arrival, order);
}

// Another worker knows predefined elements only. On the calling rank's strand: a refusal names it.
void RemoteOperation::check_that_target_has_element() const {
  const World& world = window_.rank.world;
  if (!op || world.is_here(window_.world_rank(target_))) return;
  const DatatypeObject* element = element_of(*target_buffer.type);
  if (find_predefined(element->handle()) == nullptr)
    world.remote->refuse("accumulation of elements of a Fortran 90 kind");
}

// To a target of another worker. `passage`: where it is if it shares cards.
void RemoteOperation::send_away(uint32_t order, SimTime arrival,
                                const network::Passage* passage) const {
  OperationFrame frame;
  frame.kind = kind_;
  frame.is_shipped = passage != nullptr;
  frame.arrival = arrival;
  if (passage != nullptr) frame.passage = *passage;
  frame.origin = window_.me();
  frame.target = target_;
  frame.order = order;
  if (op) {
    const DatatypeObject* element = element_of(*target_buffer.type);
    frame.op = op->handle();
    frame.element = element->handle();
  }
  frame.address = reinterpret_cast<uintptr_t>(target_buffer.address);
  frame.data_bytes = static_cast<uint64_t>(data_bytes_);
  frame.reply_bytes = result.bytes();
  frame.sent = sent_;
  frame.acknowledgement = acknowledgement_;
  frame.operation = const_cast<RemoteOperation*>(this);
  std::string content;
  ByteRangeCursor cursor(*target_buffer.type, target_buffer.count);
  for (ByteRange range; cursor.next(&range); ++frame.ranges)
    content.append(reinterpret_cast<const char*>(&range), sizeof range);
  content.append(data_.get(), static_cast<size_t>(data_bytes_));
  window_.rank.world.remote_windows->request(*window_.shared, frame, std::move(content));
}

void RemoteOperation::take_reply(const ReplyFrame& frame, std::span<const char> data) {
  if (!frame.has_data) return end(frame.back);
  if (result.type) {
    unpack_range(data.data(), result.address, result.count, *result.type, 0,
                 std::min(static_cast<Count>(data.size()), result.bytes()));
  }
  if (!frame.is_shipped) return receive_reply(frame.effect, frame.sent, frame.back);
  window_.rank.world.traffic->continue_at_receiver(
      *new ReplyTransit(*this, frame.effect, frame.sent), window_.world_rank(target_),
      window_.rank.id, static_cast<uint64_t>(result.bytes()), frame.passage);
}

void compare_and_swap(void* target, const char* values, size_t bytes) {
  char current[32];
  CHECK(bytes <= sizeof current);
  copy_bytes(current, target, bytes);
  if (std::memcmp(current, values, bytes) == 0) copy_bytes(target, values + bytes, bytes);
}

void RemoteOperation::take_effect() {
  if (returns_data(kind_) && result.type) {
    copy_typed(target_buffer.address, target_buffer.count, *target_buffer.type, result.address,
               result.count, *result.type);
  }
  switch (kind_) {
    case Kind::kGet:
      break;
    case Kind::kPut:
      unpack_range(data_.get(), target_buffer.address, target_buffer.count, *target_buffer.type, 0,
                   data_bytes_);
      break;
    case Kind::kAccumulate:
    case Kind::kFetch:
      accumulate(data_.get(), data_bytes_, target_buffer, *op);
      break;
    case Kind::kCompareAndSwap:
      compare_and_swap(target_buffer.address, data_.get(),
                       static_cast<size_t>(target_buffer.type->size()));
      break;
  }
}

void record_access(World& world, int from, const MessageRecord& record) {
  count_message(world, world.matching_of(record.destination).channel(record.context, from),
                record.source, record.bytes);
  if (world.recorder != nullptr) world.recorder->record(record);
}

void RemoteOperation::record(Protocol protocol, SimTime sent, SimTime arrived, Count bytes) const {
  int from = window_.me();
  int to = target_;
  if (protocol == Protocol::kGet) std::swap(from, to);
  record_access(
      window_.rank.world, from,
      MessageRecord{window_.world_rank(from), window_.world_rank(to), 0, window_.comm->context,
                    static_cast<uint64_t>(bytes), sent, arrived, arrived, protocol});
}

uint32_t next_reply_number(Rank& target) {
  constexpr uint32_t kReply = 1u << 31;  // replies have numbers of their own
  return kReply | target.answers++;
}

// The reply leaves through the target's interface, one reply after the other.
void RemoteOperation::send_reply() {
  World& world = window_.rank.world;
  Rank& target_rank = *world.ranks[static_cast<size_t>(window_.world_rank(target_))];
  const Count bytes = result.bytes();
  const network::MessageCost cost =
      world.network.rdma_cost(target_rank.id, window_.rank.id, static_cast<uint64_t>(bytes));
  const SimTime start = later(time(), target_rank.answers_free);
  target_rank.answers_free = start + cost.injection;
  network::Traffic* const traffic =
      network::shared_between(world.traffic.get(), target_rank.id, window_.rank.id);
  if (traffic == nullptr) return receive_reply(time(), start, start + cost.latency + cost.transfer);
  traffic->start(*new ReplyTransit(*this, time(), start), {.from = target_rank.id,
                                                           .to = window_.rank.id,
                                                           .bytes = static_cast<uint64_t>(bytes),
                                                           .start = start,
                                                           .number = next_reply_number(target_rank),
                                                           .cost = cost});
}

void RemoteOperation::receive_reply(SimTime effect, SimTime sent, SimTime back) {
  record(Protocol::kGet, sent, back, result.bytes());
  TargetState& target = window_.targets[target_];
  --target.awaiting_reply;
  --window_.awaiting_reply;
  target.complete_locally = later(target.complete_locally, back);
  window_.complete_locally = later(window_.complete_locally, back);
  if (request_ != nullptr) complete(*request_, back);
  end(later(back, effect + acknowledgement_));
}

// Deletes the operation.
void RemoteOperation::end(SimTime complete) {
  TargetState& target = window_.targets[target_];
  --target.incomplete;
  --window_.incomplete;
  target.complete = later(target.complete, complete);
  window_.complete = later(window_.complete, target.complete);
  update_wait(window_);
  delete this;
}

void wake_poller(World& world, int rank, SimTime time) {
  Strand* poller = world.ranks[static_cast<size_t>(rank)]->memory_poller;
  if (poller == nullptr) return;
  const SimTime wake = later(time, poller->now);
  if (wake < poller->wake.time()) schedule_wake(*poller, wake);
}

void RemoteOperation::fire() {
  take_effect();
  if (kind_ != Kind::kGet) wake_poller(window_.rank.world, window_.world_rank(target_), time());
  if (data_bytes_ > 0) record(Protocol::kPut, sent_, time(), data_bytes_);
  if (returns_data(kind_)) {
    send_reply();
  } else {
    end(time() + acknowledgement_);
  }
}

}  // namespace sesame::mpi
