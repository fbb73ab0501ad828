// What happens when a message reaches its receiver, and when it has found its receive: totals,
// data, status, and the times at which both requests take effect (docs/models/network.md).
//
// Use: arrive() for a message that reaches a rank. If it returns a receive, deliver the message to
// it: deliver_to_posted() copies from the sender's buffer, deliver() from a queued message.
// deliver() is also what Matching calls for matches that it finds later.
//
// The data of a rendezvous message is copied on matching; its simulated transfer starts when the
// sender's interface injects it (interface.h), which completes both requests. A message that is too
// long for its receive is truncated and sets the receive's `error`; types that differ give a
// warning (mismatch.h); nothing else fails. To be called on any strand and by events. Sizes are
// bytes, times are simulated. One thread.
#pragma once

#include <cstdint>

#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/message.h"
#include "core/mpi/messages/request.h"

namespace sesame::mpi {

struct World;

// Adds a message to the totals of the run and of its channel.
void count_message(World& world, Channel& channel, int source_world, uint64_t bytes);

// A message reaches the receiver to which `matching` and `channel` belong: sets its arrival, no
// earlier than that of the message before it on the channel, and adds it to the totals. Returns the
// posted receive that it matches, unlinked, or null: then it must be queued.
RequestObject* arrive(World& world, Matching& matching, Channel& channel, MessageEnvelope& message);

// A message of its own reaches the receiver: it is delivered or queued. Takes ownership.
void reach_queue(World& world, int target, QueuedMessage* message);

// Delivers to a receive that was posted first, of the rank `receiver`: copies from the buffer of
// `send` and completes both requests, at once or, for rendezvous, when the data is injected.
void deliver_to_posted(World& world, int receiver, RequestObject& receive,
                       const MessageEnvelope& message, const Operation& send);
// The same for a message of its own. Frees the message.
void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message);

}  // namespace sesame::mpi
