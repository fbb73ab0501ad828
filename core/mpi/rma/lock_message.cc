#include "core/mpi/rma/lock_message.h"

#include <algorithm>
#include <utility>

#include "core/mpi/messages/world.h"
#include "core/mpi/rma/operation.h"

namespace sesame::mpi {
namespace {

// Sends the grant to the origin of the claim.
void grant(const LockQueue::Claim& claim, SimTime arrival) {
  WindowObject& origin = *claim.origin;
  --origin.grants_awaited;
  origin.granted = later(origin.granted, arrival);
  update_wait(origin);
}

SimTime control_latency(const WindowObject& from, int target) {
  return from.rank.world.network.cost(from.world_rank(target), from.rank.id, 0).control_latency;
}

}  // namespace

LockMessages::LockMessages(WindowObject& window, int type) : window_(window), type_(type) {
  retain(&window_);
}

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
    if (messages == nullptr) messages = new LockMessages(window, type);
    TargetState& target = window.targets[to];
    target.last_arrival = later(target.last_arrival, start + cost.control_latency);
    messages->deliveries_.push_back({target.last_arrival, to, cost.control_latency});
  }
  if (messages != nullptr) messages->schedule_all();
}

void LockMessages::schedule_all() {
  std::stable_sort(deliveries_.begin(), deliveries_.end(),
                   [](const Delivery& a, const Delivery& b) { return a.arrival > b.arrival; });
  order_ = next_remote_order(window_.rank);
  schedule_next();
}

void LockMessages::schedule_next() {
  window_.rank.world.executive.events().schedule(*this, deliveries_.back().arrival, order_);
}

void LockMessages::deliver(const Delivery& delivery) {
  LockQueue& lock = window_.exposure(delivery.target).lock;
  if (type_ == kRelease) {
    lock.release([&](const LockQueue::Claim& next) {
      grant(next, delivery.arrival + control_latency(*next.origin, delivery.target));
    });
  } else if (lock.claim({&window_, type_})) {
    grant({&window_, type_}, delivery.arrival + delivery.reply_latency);
  }
}

void LockMessages::fire() {
  deliver(deliveries_.back());
  deliveries_.pop_back();
  if (deliveries_.empty()) {
    delete this;
  } else {
    schedule_next();
  }
}

}  // namespace sesame::mpi
