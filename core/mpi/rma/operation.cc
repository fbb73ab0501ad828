#include "core/mpi/rma/operation.h"

#include <cstring>

#include "core/base/check.h"
#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/transit.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/pack.h"

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

 private:
  void end_order() override { target_.last_in_transit = nullptr; }
  void reach_target(SimTime arrival) override {
    target_.last_arrival = later(target_.last_arrival, arrival);
    World& world = operation_.window_.rank.world;
    world.executive.events().schedule(operation_, target_.last_arrival, order_);
    delete this;
  }

  RemoteOperation& operation_;
  TargetState& target_;
  const pdes::EventOrder order_;
};

class RemoteOperation::ReplyTransit final : public network::Transit, public Pooled<ReplyTransit> {
 public:
  ReplyTransit(RemoteOperation& operation, SimTime sent) : operation_(operation), sent_(sent) {}

 private:
  void arrives(SimTime time) override {
    operation_.receive_reply(sent_, time);
    delete this;
  }

  RemoteOperation& operation_;
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
  const network::MessageCost cost = rank.world.network.cost(
      rank.id, window.world_rank(operation.target_), static_cast<uint64_t>(operation.data_bytes_));
  strand.now += cost.send_overhead;
  const SimTime start = rank.interface.inject(strand, cost.injection);
  operation.sent_ = plain(strand.now);
  operation.acknowledgement_ = cost.control_latency;
  TargetState& target = window.targets[operation.target_];
  ++target.incomplete;
  ++window.incomplete;
  operation.request_ = request;
  if (operation.returns_data()) {
    ++target.awaiting_reply;
    ++window.awaiting_reply;
  } else {
    target.complete_locally = later(target.complete_locally, start + cost.injection);
    window.complete_locally = later(window.complete_locally, target.complete_locally);
    if (request != nullptr) complete(*request, start + cost.injection);
  }
  const pdes::EventOrder order = next_remote_order(rank);
  const int to = window.world_rank(operation.target_);
  network::Traffic* traffic = rank.world.traffic.get();
  if (traffic != nullptr && traffic->is_shared(rank.id, to)) {
    return traffic->start(*new RequestTransit(operation, target, order),
                          {.from = rank.id,
                           .to = to,
                           .bytes = static_cast<uint64_t>(operation.data_bytes_),
                           .start = start,
                           .number = rank.interface.injections(),
                           .cost = cost});
  }
  target.last_arrival = later(target.last_arrival, start + cost.latency + cost.transfer);
  rank.world.executive.events().schedule(operation, target.last_arrival, order);
}

namespace {

// `values` has the value to compare with, then the new value.
void compare_and_swap(void* target, const char* values, size_t bytes) {
  char current[32];
  CHECK(bytes <= sizeof current);
  copy_bytes(current, target, bytes);
  if (std::memcmp(current, values, bytes) == 0) copy_bytes(target, values + bytes, bytes);
}

}  // namespace

void RemoteOperation::take_effect() {
  if (returns_data() && result.type) {
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

void RemoteOperation::record(SimTime sent, SimTime arrived, int from, int to, Count bytes) const {
  World& world = window_.rank.world;
  const CommObject& comm = *window_.comm;
  const int source = window_.world_rank(from);
  const int destination = window_.world_rank(to);
  count_message(world, world.matching_of(destination).channel(comm.context, from), source,
                static_cast<uint64_t>(bytes));
  if (world.recorder == nullptr) return;
  world.recorder->record(MessageRecord{source, destination, 0, comm.context,
                                       static_cast<uint64_t>(bytes), sent, arrived, arrived,
                                       false});
}

// The reply leaves through the target's interface, one reply after the other.
void RemoteOperation::send_reply() {
  World& world = window_.rank.world;
  Rank& target_rank = *world.ranks[static_cast<size_t>(window_.world_rank(target_))];
  const Count bytes = result.bytes();
  const network::MessageCost cost =
      world.network.cost(target_rank.id, window_.rank.id, static_cast<uint64_t>(bytes));
  const SimTime start = later(time(), target_rank.answers_free);
  target_rank.answers_free = start + cost.injection;
  network::Traffic* traffic = world.traffic.get();
  if (traffic == nullptr || !traffic->is_shared(target_rank.id, window_.rank.id)) {
    return receive_reply(start, start + cost.latency + cost.transfer);
  }
  constexpr uint32_t kReply = 1u << 31;  // replies have numbers of their own
  traffic->start(*new ReplyTransit(*this, start), {.from = target_rank.id,
                                                   .to = window_.rank.id,
                                                   .bytes = static_cast<uint64_t>(bytes),
                                                   .start = start,
                                                   .number = kReply | target_rank.answers++,
                                                   .cost = cost});
}

void RemoteOperation::receive_reply(SimTime sent, SimTime back) {
  record(sent, back, target_, window_.me(), result.bytes());
  TargetState& target = window_.targets[target_];
  --target.awaiting_reply;
  --window_.awaiting_reply;
  target.complete_locally = later(target.complete_locally, back);
  window_.complete_locally = later(window_.complete_locally, back);
  if (request_ != nullptr) complete(*request_, back);
  end(later(back, time() + acknowledgement_));
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

// Wakes a target that polls its memory.
void RemoteOperation::wake_target() {
  World& world = window_.rank.world;
  Strand* poller = world.ranks[static_cast<size_t>(window_.world_rank(target_))]->memory_poller;
  if (poller == nullptr) return;
  const SimTime wake = later(time(), poller->now);
  if (wake < poller->wake.time()) schedule_wake(*poller, wake);
}

void RemoteOperation::fire() {
  take_effect();
  if (kind_ != Kind::kGet) wake_target();
  if (data_bytes_ > 0) record(sent_, time(), window_.me(), target_, data_bytes_);
  if (returns_data()) {
    send_reply();
  } else {
    end(time() + acknowledgement_);
  }
}

}  // namespace sesame::mpi
