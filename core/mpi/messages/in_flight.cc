#include "core/mpi/messages/in_flight.h"

#include <span>

#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

// What one step loads for a message, the next step reads when another message comes: by then it has
// arrived in the cache.
void InFlight::add(int target, QueuedMessage* message) {
  if (count_ == flights_.size()) deliver_all();
  flights_[count_++] = {message, target, nullptr};
  world_.matching_of(target).prefetch(message->context, message->source);
  if (count_ > 1) load_receive(flights_[count_ - 2]);
  if (count_ > 2) load_landing(flights_[count_ - 3]);
}

void InFlight::deliver_all() {
  if (count_ == 0) return;
  load_receive(flights_[count_ - 1]);
  if (count_ > 1) load_landing(flights_[count_ - 2]);
  for (const Flight& flight : std::span(flights_).first(count_)) deliver(flight);
  count_ = 0;
}

void InFlight::load_receive(Flight& flight) {
  const Channel* channel = world_.matching_of(flight.target)
                               .find_channel(flight.message->context, flight.message->source);
  if (channel == nullptr || channel->first_receive == nullptr) return;
  flight.receive = channel->first_receive;
  prefetch_whole(*flight.receive);
}

void InFlight::load_landing(const Flight& flight) {
  if (flight.receive == nullptr) return;
  __builtin_prefetch(flight.receive->buffer, 1);
  if (flight.receive->waiter != nullptr) __builtin_prefetch(flight.receive->waiter, 1);
}

void InFlight::deliver(const Flight& flight) {
  QueuedMessage* message = flight.message;
  Matching& matching = world_.matching_of(flight.target);
  Channel& channel = matching.channel(message->context, message->source);
  count_message(world_, channel, message->source_world, message->bytes);
  message->arrival = later(message->arrival, channel.last_arrival);
  channel.last_arrival = message->arrival;
  if (RequestObject* receive =
          matching.match_posted_receive(channel, message->context, message->tag)) {
    mpi::deliver(world_, flight.target, *receive, message);
  } else {
    matching.enqueue(channel, message);
  }
}

}  // namespace sesame::mpi
