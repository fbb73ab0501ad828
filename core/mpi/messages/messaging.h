// Sending and receiving one message: the common core of MPI_Send, MPI_Recv, their relatives and the
// messages inside collectives. Times follow the LogGP model (docs/models/network.md).
//
// Use: describe_operation() (request.h) fills in a request; post_send() or post_receive() starts
// it; await() and its like (waiting.h) block the strand until it is complete and advance the
// strand's clock; or the program polls (polling.h). A send for which completes_on_post() is true
// needs no request: post_complete_send() takes only the operation. Arguments must have been checked
// (arguments.h).
//
// Data is copied from the sender's buffer to the receiver's if the receive is posted first, and
// through a queued message otherwise; the simulated times are the same (delivery.h). Small eager
// messages may be delivered late (in_flight.h): nothing waits for their match, since the send is
// complete at once, and no other rank runs before the sender yields. All others are delivered
// before the function that posts them returns.
//
// A request belongs to the caller and must not move until it is complete. A message that is too
// long for its receive is truncated and sets the request's `error`; nothing else fails here. All
// functions are called on the running strand, and those that send may yield. Times are simulated.
// One thread.
#pragma once

#include "core/mpi/messages/message.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"
#include "core/network/network.h"

namespace sesame::mpi {

// The target of a message and what the message costs, calculated once for each send.
struct Route {
  int target = MPI_PROC_NULL;  // world rank
  network::MessageCost cost;
};
Route route_of(const Strand& strand, const Operation& send);
// Whether the send will be complete when post_send() returns: eager and buffered sends.
bool completes_on_post(const Route& route, const Operation& send);

// Start a send or a receive on the running strand; the request may be complete on return, and is
// when the peer is MPI_PROC_NULL. The peer of a send must not be MPI_ANY_SOURCE.
void post_send(Strand& strand, RequestObject& request, const Route& route);
inline void post_send(Strand& strand, RequestObject& request) {
  post_send(strand, request, route_of(strand, request));
}
// The same for a send that is then complete. REQUIRES: completes_on_post(); not a buffered send.
void post_complete_send(Strand& strand, const Operation& send, const Route& route);
void post_receive(Strand& strand, RequestObject& request);
// The same for one that the program has a handle to, by which it may cancel it.
void post_cancellable_receive(Strand& strand, RequestObject& request);
// Starts the receive of a message that a matched probe removed from the queue. Frees the message.
void receive_matched(Strand& strand, RequestObject& request, QueuedMessage* message);

}  // namespace sesame::mpi
