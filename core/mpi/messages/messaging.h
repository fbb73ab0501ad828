// Moving one message: what MPI_Send and MPI_Recv, their relatives and the messages inside
// collectives have in common. Times follow the LogGP model (docs/models/network.md).
//
// Use: describe_operation() fills in a request; post_send() or post_receive() begins it; await(),
// await_all() or await_any() block the strand until it is complete and move its clock; or the
// program polls with has_taken_effect(). Arguments must have been checked (arguments.h).
//
// Data goes from the sender's buffer to the receiver's in one copy when the receive is posted
// first, and through a queue entry otherwise; the simulated times are the same. Announced data
// (rendezvous) is copied on matching and takes its time when the sender's interface injects it
// (interface.h).
//
// A request belongs to the caller and must stay where it is until it is complete. A message that is
// too long for its receive is cut and sets the request's `error`; nothing else fails here. All
// functions but deliver() and complete(), which events call, too, are called on the running strand.
// One thread.
#pragma once

#include <span>

#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/request.h"
#include "core/network/network.h"

namespace sesame::mpi {

struct Rank;
struct Strand;

// Where a message goes and what it costs. Taken once for each send, as it depends on its size.
struct Route {
  int target = MPI_PROC_NULL;  // world rank
  network::MessageCost cost;
};
Route route_of(const Strand& strand, const RequestObject& send);
// Whether the send will be complete when post_send() returns: its data leaves at once.
bool leaves_at_once(const Route& route, const RequestObject& send);

// Sends and receives on the running strand; the request may be complete on return. A peer of
// MPI_PROC_NULL completes at once. Sends must name a peer.
void post_send(Strand& strand, RequestObject& request, const Route& route);
inline void post_send(Strand& strand, RequestObject& request) {
  post_send(strand, request, route_of(strand, request));
}
void post_receive(Strand& strand, RequestObject& request);
// Receives a message that a matched probe took out of the queue.
void receive_matched(Strand& strand, RequestObject& request, QueuedMessage* message);

// Adds a message to the totals of the run and of its channel.
void count_message(World& world, Channel& channel, int source_world, uint64_t bytes);

// A message reaches its receiver, whose channel this is: sets its arrival, which is not before that
// of the message before it on the channel, and adds it to the totals. Gives the posted receive that
// it matches; null: it has to be queued.
RequestObject* arrive(World& world, Matching& matching, Channel& channel, MessageEnvelope& message);

// A queued message is matched with a receive of the rank `receiver`: moves the data and completes
// both sides, at once or, for announced data, when they are injected. Frees the message.
void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message);

// The operation's outcome is known: takes effect at `ready`. Wakes who waits for it.
void complete(RequestObject& request, SimTime ready);

// Blocks the strand until the requests are complete and moves its clock to where the last of them
// has taken effect, overheads included.
void await(Strand& strand, RequestObject& request);
void await_all(Strand& strand, std::span<RequestObject* const> requests);
// Blocks until at least one (not null, active) is complete; the index of the one that took effect
// first. The clock moves to that moment, its overhead included.
size_t await_any(Strand& strand, std::span<RequestObject* const> requests);

// True when the request has taken effect by now. Yields until now if that is not known yet. A poll
// in vain costs a little simulated time, so that programs that poll get on.
bool has_taken_effect(Strand& strand, RequestObject& request);
// The same for all of the requests (null ones apart), without any cost.
bool have_taken_effect(Strand& strand, std::span<RequestObject* const> requests);
// Yields until it is known which of the requests have taken effect by now.
void yield_until_known(Strand& strand, std::span<RequestObject* const> requests);
// Yields until everything earlier than now has happened.
void yield_until_now(Strand& strand);
// A poll of these requests was in vain: charges it. Repeated polls sleep until one of the requests
// takes effect, or for a small part of the time that they have lasted.
void wait_after_idle_poll(Strand& strand, std::span<RequestObject* const> requests);
// The same for polls of anything else: charges it, and says until when the strand is to sleep at
// most; now when it is not.
SimTime charge_idle_poll(Strand& strand);

// Where strands wait that an event wakes.
void schedule_wake(Strand& strand, SimTime time);

}  // namespace sesame::mpi
