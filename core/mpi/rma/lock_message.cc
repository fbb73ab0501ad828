#include "core/mpi/rma/lock_message.h"

#include <algorithm>
#include <utility>

#include "core/mpi/messages/world.h"
#include "core/mpi/rma/operation.h"

namespace sesame::mpi {
namespace {

// The grant is on its way to the origin of the claim.
void grant(const LockQueue::Claim& claim, SimTime arrival) {
  WindowObject& origin = *claim.origin;
  --origin.grants_awaited;
  origin.granted = later(origin.granted, arrival);
  note_progress(origin);
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
    // What is sent already travels while the strand yields.
    if (messages != nullptr && rank.interface.has_contenders()) {
      std::exchange(messages, nullptr)->depart();
    }
    const SimTime start = rank.interface.inject(strand, cost.injection);
    if (messages == nullptr) messages = new LockMessages(window, type);
    TargetState& target = window.targets[to];
    target.last_arrival = later(target.last_arrival, start + cost.control_latency);
    messages->stops_.push_back({target.last_arrival, to, cost.control_latency});
  }
  if (messages != nullptr) messages->depart();
}

void LockMessages::depart() {
  std::stable_sort(stops_.begin(), stops_.end(),
                   [](const Stop& a, const Stop& b) { return a.arrival > b.arrival; });
  order_ = next_remote_order(window_.rank);
  travel();
}

void LockMessages::travel() {
  window_.rank.world.executive.events().schedule(*this, stops_.back().arrival, order_);
}

void LockMessages::visit(const Stop& stop) {
  LockQueue& lock = window_.exposure(stop.target).lock;
  if (type_ == kRelease) {
    lock.release([&](const LockQueue::Claim& next) {
      grant(next, stop.arrival + control_latency(*next.origin, stop.target));
    });
  } else if (lock.claim({&window_, type_})) {
    grant({&window_, type_}, stop.arrival + stop.back);
  }
}

void LockMessages::fire() {
  visit(stops_.back());
  stops_.pop_back();
  if (stops_.empty()) {
    delete this;
  } else {
    travel();
  }
}

}  // namespace sesame::mpi
