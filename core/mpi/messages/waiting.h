// Completion of requests, and what a strand waits for.
//
// Use: the code that learns the outcome of an operation calls complete(). The call of the program
// that waits for it calls await(), await_all() or await_any(), which block the strand until the
// requests are complete and advance the strand's clock. Polls are in polling.h.
//
// "Complete" and "has taken effect" differ: a request is complete when the simulator knows its
// outcome, and has taken effect when the strand's clock has reached the simulated time of that
// outcome (request.h). "Yields until now" means: the strand blocks until no other strand can run
// and all events before its own time have fired. Everything that happened before that time is then
// known; the strand's clock does not change.
//
// A request belongs to the caller and must not move until it is complete; nothing is allocated but
// by await_all() for more than 16 requests. Nothing here fails: an error of the operation is in
// RequestObject::error. complete() may be called on any strand and by events, all others on the
// running strand. Times are simulated. One thread.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/units.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

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

// Whether the outcome of all requests that are not null and active is known.
bool all_complete(std::span<RequestObject* const> requests);
// Blocks until one of the incomplete requests has taken effect, but until `latest` at most. All
// effects up to the time of resuming, which is that of Strand::wake, are known then. Does not
// advance the strand's clock. At least one must be incomplete, or `latest` not SimTime::never().
void sleep_until_effect(Strand& strand, std::span<RequestObject* const> requests, SimTime latest);

// Yields until everything before the strand's time has happened (see above).
void yield_until_now(Strand& strand);
// Schedules the event that resumes the strand, which must then block, at this time.
void schedule_wake(Strand& strand, SimTime time);

}  // namespace sesame::mpi
