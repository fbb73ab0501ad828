#include "core/mpi/messages/in_flight.h"

#include <span>
#include <utility>

#include "core/mpi/messages/delivery.h"

namespace sesame::mpi {

void finish_sends(World& world) {
  InFlight::of(world).deliver_all();
  if (world.interfaces.deferred != nullptr) {
    std::exchange(world.interfaces.deferred, nullptr)->inject_due();
  }
}

void InFlight::make(World& world) {
  world.in_flight.reset(new InFlight(world));
  world.executive.set_yield_hook([](void* run) { finish_sends(*static_cast<World*>(run)); },
                                 &world);
}

// A software pipeline over consecutive messages: each step for a message starts to load the memory
// that its next step needs. The next step runs when another message is added.
void InFlight::add(int target, QueuedMessage* message) {
  if (count_ == pending_.size()) deliver_all();
  pending_[count_++] = {message, target, nullptr};
  world_.matching_of(target).prefetch(message->context, message->source);
  if (count_ > 1) prefetch_receive(pending_[count_ - 2]);
  if (count_ > 2) prefetch_buffer(pending_[count_ - 3]);
}

void InFlight::deliver_all() {
  if (count_ == 0) return;
  prefetch_receive(pending_[count_ - 1]);
  if (count_ > 1) prefetch_buffer(pending_[count_ - 2]);
  for (const Pending& pending : std::span(pending_).first(count_))
    reach_queue(world_, pending.target, pending.message);
  count_ = 0;
}

void InFlight::prefetch_receive(Pending& pending) {
  const Channel* channel = world_.matching_of(pending.target)
                               .find_channel(pending.message->context, pending.message->source);
  if (channel == nullptr || channel->first_receive == nullptr) return;
  pending.receive = channel->first_receive;
  prefetch_whole(*pending.receive);
}

void InFlight::prefetch_buffer(const Pending& pending) {
  if (pending.receive == nullptr) return;
  __builtin_prefetch(pending.receive->buffer, 1);
  if (pending.receive->waiter != nullptr) __builtin_prefetch(pending.receive->waiter, 1);
}

}  // namespace sesame::mpi
