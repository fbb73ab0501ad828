// Sending and receiving one message: the common core of MPI_Send, MPI_Recv, their relatives and the
// messages inside collectives. Times follow the LogGP model (docs/models/network.md).
//
// Use: describe_operation() (request.h) fills in a request; post_send() or post_receive() starts
// it; await(), await_all() or await_any() block the strand until it is complete and advance the
// strand's clock; or the program polls with has_taken_effect(). Arguments must have been checked
// (arguments.h).
//
// Data is copied from the sender's buffer to the receiver's if the receive is posted first, and
// through a queued message otherwise; the simulated times are the same. The data of a rendezvous
// message is copied on matching; its simulated transfer starts when the sender's interface injects
// it (interface.h).
//
// "Complete" and "has taken effect" differ: a request is complete when the simulator knows its
// outcome, and has taken effect when the strand's clock has reached the simulated time of that
// outcome (request.h). "Yields until now" means: the strand blocks until no other strand can run
// and all events before its own time have fired. Everything that happened before that time is then
// known; the strand's clock does not change.
//
// Small eager messages may be delivered late (in_flight.h): nothing waits for their match, since
// the send is complete at once, and no other rank runs before the sender yields. All others are
// delivered before post_send() returns.
//
// A request belongs to the caller and must not move until it is complete. A message that is too
// long for its receive is truncated and sets the request's `error`; nothing else fails here. All
// functions but deliver() and complete(), which events call too, are called on the running strand.
// Times are simulated. One thread.
#pragma once

#include <span>

#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/request.h"
#include "core/network/network.h"

namespace sesame::mpi {

struct Rank;
struct Strand;

// The target of a message and what the message costs, calculated once for each send.
struct Route {
  int target = MPI_PROC_NULL;  // world rank
  network::MessageCost cost;
};
Route route_of(const Strand& strand, const RequestObject& send);
// Whether the send will be complete when post_send() returns: eager and buffered sends.
bool completes_on_post(const Route& route, const RequestObject& send);

// Start a send or a receive on the running strand; the request may be complete on return, and is
// when the peer is MPI_PROC_NULL. The peer of a send must not be MPI_ANY_SOURCE.
void post_send(Strand& strand, RequestObject& request, const Route& route);
inline void post_send(Strand& strand, RequestObject& request) {
  post_send(strand, request, route_of(strand, request));
}
void post_receive(Strand& strand, RequestObject& request);
// Starts the receive of a message that a matched probe removed from the queue. Frees the message.
void receive_matched(Strand& strand, RequestObject& request, QueuedMessage* message);

// Adds a message to the totals of the run and of its channel.
void count_message(World& world, Channel& channel, int source_world, uint64_t bytes);

// A message reaches the receiver to which `matching` and `channel` belong: sets its arrival, no
// earlier than that of the message before it on the channel, and adds it to the totals. Returns the
// posted receive that it matches, or null: then it must be queued.
RequestObject* arrive(World& world, Matching& matching, Channel& channel, MessageEnvelope& message);

// Delivers a message to its receive, of the rank `receiver`: copies the data and completes both
// requests, at once or, for rendezvous, when the data is injected. Frees the message.
void deliver(World& world, int receiver, RequestObject& receive, QueuedMessage* message);

// Marks a request as complete with effect at `ready`, and resumes the strand that waits for it.
// Deletes a request that the program has freed.
void complete(RequestObject& request, SimTime ready);

// Block the strand until all requests are complete, and advance its clock to the time at which the
// last of them has taken effect, receive overheads included. await_all() skips null and inactive
// ones.
void await(Strand& strand, RequestObject& request);
void await_all(Strand& strand, std::span<RequestObject* const> requests);
// Blocks until one of the requests has taken effect, and returns the index of the one that did so
// first. The clock advances to that time, its receive overhead included. At least one must be
// active.
size_t await_any(Strand& strand, std::span<RequestObject* const> requests);

// Whether the request has taken effect by now. Yields until now if that is not known yet. A poll
// that finds nothing costs a little simulated time, so that programs that poll make progress.
bool has_taken_effect(Strand& strand, RequestObject& request);
// The same for all requests that are not null, without any cost.
bool have_taken_effect(Strand& strand, std::span<RequestObject* const> requests);
// Yields until now unless the outcome of all requests is known.
void yield_until_known(Strand& strand, std::span<RequestObject* const> requests);
// Yields until everything before the strand's time has happened (see above).
void yield_until_now(Strand& strand);
// Charges a poll that found none of these requests effective. Repeated polls also sleep: until one
// of the requests takes effect, but for a small fraction of the time since the first poll at most.
void wait_after_idle_poll(Strand& strand, std::span<RequestObject* const> requests);
// Charges a poll of anything else that found nothing. Returns until when the strand should sleep at
// most; the strand's time if it should not sleep.
SimTime charge_idle_poll(Strand& strand);

// Schedules the event that resumes the strand, which must then block, at this time.
void schedule_wake(Strand& strand, SimTime time);

}  // namespace sesame::mpi
