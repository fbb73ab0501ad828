#include "core/mpi/rma/operation.h"

#include <cstring>

#include "core/mpi/messages/delivery.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

RemoteOperation::RemoteOperation(WindowObject& window, Kind kind, int target)
    : window_(window), kind_(kind), target_(target) {
  retain(&window_);
}

RemoteOperation::~RemoteOperation() { release(&window_); }

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
  target.last_arrival = later(target.last_arrival, start + cost.latency + cost.transfer);
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
  rank.world.executive.events().schedule(operation, target.last_arrival, next_remote_order(rank));
}

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
    case Kind::kCompareAndSwap: {
      // The data is the value to compare with, then the new value.
      const auto bytes = static_cast<size_t>(target_buffer.type->size());
      if (std::memcmp(target_buffer.address, data_.get(), bytes) == 0) {
        std::memcpy(target_buffer.address, data_.get() + bytes, bytes);
      }
      break;
    }
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
  const SimTime back = start + cost.latency + cost.transfer;
  record(start, back, target_, window_.me(), bytes);
  TargetState& target = window_.targets[target_];
  --target.awaiting_reply;
  --window_.awaiting_reply;
  target.complete_locally = later(target.complete_locally, back);
  window_.complete_locally = later(window_.complete_locally, back);
  target.complete = later(target.complete, back);
  if (request_ != nullptr) complete(*request_, back);
}

void RemoteOperation::finish() {
  TargetState& target = window_.targets[target_];
  --target.incomplete;
  --window_.incomplete;
  target.complete = later(target.complete, time() + acknowledgement_);
  if (data_bytes_ > 0) record(sent_, time(), window_.me(), target_, data_bytes_);
  if (returns_data()) send_reply();
  window_.complete = later(window_.complete, target.complete);
  update_wait(window_);
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
  finish();
  delete this;
}

}  // namespace sesame::mpi
