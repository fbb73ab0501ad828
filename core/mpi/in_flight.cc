#include "core/mpi/in_flight.h"

#include <span>

#include "core/mpi/messaging.h"
#include "core/mpi/world.h"

namespace sesame::mpi {

void InFlight::deliver_all() {
  if (count_ == 0) return;
  load_receivers();
  for (const Flight& flight : std::span(flights_).first(count_)) deliver(flight);
  count_ = 0;
}

// Each pass starts the loads that the next one needs.
void InFlight::load_receivers() {
  const std::span<Flight> flights = std::span(flights_).first(count_);
  for (const Flight& flight : flights) __builtin_prefetch(&world_.matching_of(flight.target), 1);
  for (const Flight& flight : flights) {
    world_.matching_of(flight.target).prefetch(flight.message->context, flight.message->source);
  }
  for (Flight& flight : flights) {
    const Channel* channel = world_.matching_of(flight.target)
                                 .find_channel(flight.message->context, flight.message->source);
    flight.receive = channel == nullptr ? nullptr : channel->first_receive;
    if (flight.receive != nullptr) prefetch_whole(*flight.receive);
  }
  for (const Flight& flight : flights) {
    if (flight.receive == nullptr) continue;
    __builtin_prefetch(flight.receive->buffer, 1);
    if (flight.receive->waiter != nullptr) __builtin_prefetch(flight.receive->waiter, 1);
  }
}

void InFlight::deliver(const Flight& flight) {
  QueuedMessage* message = flight.message;
  Matching& matching = world_.matching_of(flight.target);
  Channel& channel = matching.channel(message->context, message->source);
  count_message(world_, channel, message->source_world, message->bytes);
  message->arrival = later(message->arrival, channel.last_arrival);
  channel.last_arrival = message->arrival;
  if (RequestObject* receive = matching.meet_receive(channel, message->context, message->tag)) {
    mpi::deliver(world_, flight.target, *receive, message);
  } else {
    matching.enqueue(channel, message);
  }
}

}  // namespace sesame::mpi
