// Calls that ask without waiting (MPI_Test and its relatives, probes): whether requests have taken
// effect by now, and what a poll costs that finds nothing.
//
// Use: has_taken_effect() for one request that the call completes. For several, yield until the
// outcome is known, look which have taken effect, and call wait_after_idle_poll() if none has, or
// set Strand::idle_polls to 0 otherwise. A poll of something else that finds nothing calls
// charge_idle_poll() and sleeps until what it asks for, but no longer than the time returned.
//
// Requests stay the caller's. Nothing here fails. To be called on the running strand. Times are
// simulated. One thread. Why polls sleep: docs/decisions/0004-time-and-order.md.
#pragma once

#include <span>

#include "core/base/units.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

// Whether the request has taken effect by now. Yields until now if that is not known yet. A poll
// that finds nothing costs a little simulated time, so that programs that poll make progress.
bool has_taken_effect(Strand& strand, RequestObject& request);
// The same for all requests that are not null, without any cost.
bool have_taken_effect(Strand& strand, std::span<RequestObject* const> requests);
// Yields until now unless the outcome of all requests is known.
void yield_until_known(Strand& strand, std::span<RequestObject* const> requests);
// Charges a poll that found none of these requests effective. Repeated polls also sleep: until one
// of the requests takes effect, but for a small fraction of the time since the first poll at most.
void wait_after_idle_poll(Strand& strand, std::span<RequestObject* const> requests);
// Charges a poll of anything else that found nothing. Returns until when the strand should sleep at
// most; the strand's time if it should not sleep.
SimTime charge_idle_poll(Strand& strand);

}  // namespace sesame::mpi
