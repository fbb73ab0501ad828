#include "core/mpi/rma/operation.h"

#include <cstring>

#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

RemoteOperation::RemoteOperation(WindowObject& window, Kind kind, int target)
    : window_(window), kind_(kind), target_(target) {
  retain(&window_);
}

RemoteOperation::~RemoteOperation() { release(&window_); }

void RemoteOperation::carry(const void* address, Count count, const DatatypeObject& type) {
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
  operation.sent_ = strand.now;
  operation.acknowledgement_ = cost.control_latency;
  TargetState& target = window.targets[operation.target_];
  target.last_arrival = later(target.last_arrival, start + cost.latency + cost.transfer);
  ++target.incomplete;
  ++window.incomplete;
  operation.request_ = request;
  if (operation.answers()) {
    ++target.unanswered;
    ++window.unanswered;
  } else {
    target.complete_here = later(target.complete_here, start + cost.injection);
    window.complete_here = later(window.complete_here, target.complete_here);
    if (request != nullptr) complete(*request, start + cost.injection);
  }
  rank.world.executive.events().schedule(operation, target.last_arrival, next_remote_order(rank));
}

void RemoteOperation::take_effect() {
  if (answers() && result.type) {
    copy_typed(there.address, there.count, *there.type, result.address, result.count, *result.type);
  }
  switch (kind_) {
    case Kind::kGet:
      break;
    case Kind::kPut:
      unpack_range(data_.get(), there.address, there.count, *there.type, 0, data_bytes_);
      break;
    case Kind::kAccumulate:
    case Kind::kFetch:
      accumulate(data_.get(), data_bytes_, there, *op);
      break;
    case Kind::kCompareAndSwap: {
      // The data is what to compare with, then what to put there.
      const auto bytes = static_cast<size_t>(there.type->size());
      if (std::memcmp(there.address, data_.get(), bytes) == 0) {
        std::memcpy(there.address, data_.get() + bytes, bytes);
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

// The data goes back through the target's interface, one answer after the other.
void RemoteOperation::answer() {
  World& world = window_.rank.world;
  Rank& there_rank = *world.ranks[static_cast<size_t>(window_.world_rank(target_))];
  const Count bytes = result.bytes();
  const network::MessageCost cost =
      world.network.cost(there_rank.id, window_.rank.id, static_cast<uint64_t>(bytes));
  const SimTime start = later(time(), there_rank.answers_free);
  there_rank.answers_free = start + cost.injection;
  const SimTime back = start + cost.latency + cost.transfer;
  record(start, back, target_, window_.me(), bytes);
  TargetState& target = window_.targets[target_];
  --target.unanswered;
  --window_.unanswered;
  target.complete_here = later(target.complete_here, back);
  window_.complete_here = later(window_.complete_here, back);
  target.complete = later(target.complete, back);
  if (request_ != nullptr) complete(*request_, back);
}

void RemoteOperation::finish() {
  TargetState& target = window_.targets[target_];
  --target.incomplete;
  --window_.incomplete;
  target.complete = later(target.complete, time() + acknowledgement_);
  if (data_bytes_ > 0) record(sent_, time(), window_.me(), target_, data_bytes_);
  if (answers()) answer();
  window_.complete = later(window_.complete, target.complete);
  note_progress(window_);
}

// A rank that waits for its memory to change looks at it again.
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
