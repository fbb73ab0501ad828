#include "core/mpi/rma/lock_message.h"

#include <algorithm>
#include <utility>

#include "core/mpi/messages/world.h"
#include "core/mpi/rma/operation.h"
#include "core/mpi/rma/remote_windows.h"

namespace sesame::mpi {
namespace {

// Sends the grant to the origin of the claim.
void grant(World& world, const LockQueue::Claim& claim, SimTime arrival) {
  if (!world.is_here(claim.rank)) return world.remote_windows->grant(claim, arrival);
  receive_grant(*claim.origin, arrival);
}

SimTime control_latency(const World& world, int from, int to) {
  return world.network.cost(from, to, 0).control_latency;
}

}  // namespace

void receive_grant(WindowObject& origin, SimTime arrival) {
  --origin.grants_awaited;
  origin.granted = later(origin.granted, arrival);
  update_wait(origin);
}

void deliver_lock(World& world, SharedWindow& window, const LockDelivery& delivery) {
  LockQueue& lock = window.exposures[static_cast<size_t>(delivery.target)].lock;
  if (delivery.claim.type == kRelease) {
    const int target = (*window.members)[delivery.target];
    lock.release([&](const LockQueue::Claim& next) {
      grant(world, next, delivery.arrival + control_latency(world, target, next.rank));
    });
  } else if (lock.claim(delivery.claim)) {
    grant(world, delivery.claim, delivery.arrival + delivery.reply_latency);
  }
}

LockMessages::LockMessages(WindowObject& window) : window_(window) { retain(&window_); }

LockMessages::~LockMessages() { mpi::release(&window_); }

void LockMessages::claim(Strand& strand, WindowObject& window, std::span<const int> targets,
                         int type) {
  window.grants_awaited += static_cast<int>(targets.size());
  send(strand, window, targets, type);
}

void LockMessages::release(Strand& strand, WindowObject& window, std::span<const int> targets) {
  send(strand, window, targets, kRelease);
}

void LockMessages::send(Strand& strand, WindowObject& window, std::span<const int> targets,
                        int type) {
  Rank& rank = *strand.rank;
  LockMessages* messages = nullptr;
  for (const int to : targets) {
    const network::MessageCost cost = rank.world.network.cost(rank.id, window.world_rank(to), 0);
    strand.now += cost.send_overhead;
    // The strand may yield in inject(): schedule the messages sent so far before that.
    if (messages != nullptr && rank.interface.has_contenders()) {
      std::exchange(messages, nullptr)->schedule_all();
    }
    const SimTime start = rank.interface.inject(strand, cost.injection);
    if (messages == nullptr) messages = new LockMessages(window);
    TargetState& target = window.targets[to];
    target.last_arrival = later(target.last_arrival, start + cost.control_latency);
    messages->deliveries_.push_back(
        {target.last_arrival, to, {rank.id, &window, type}, cost.control_latency});
  }
  if (messages != nullptr) messages->schedule_all();
}

void LockMessages::schedule_all() {
  std::stable_sort(
      deliveries_.begin(), deliveries_.end(),
      [](const LockDelivery& a, const LockDelivery& b) { return a.arrival > b.arrival; });
  order_ = next_remote_order(window_.rank);
  if (window_.rank.world.remote != nullptr) send_away();
  deliveries_.empty() ? delete this : schedule_next();
}

// Sends those whose target is of another worker.
void LockMessages::send_away() {
  World& world = window_.rank.world;
  std::erase_if(deliveries_, [&](const LockDelivery& delivery) {
    if (world.is_here(window_.world_rank(delivery.target))) return false;
    world.remote_windows->request(*window_.shared, delivery, order_.number);
    return true;
  });
}

void LockMessages::schedule_next() {
  window_.rank.world.executive.events().schedule(*this, deliveries_.back().arrival, order_);
}

void LockMessages::fire() {
  deliver_lock(window_.rank.world, *window_.shared, deliveries_.back());
  deliveries_.pop_back();
  if (deliveries_.empty()) {
    delete this;
  } else {
    schedule_next();
  }
}

}  // namespace sesame::mpi
