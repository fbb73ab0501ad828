// Calls that a rank's process has made without waiting for the simulator (Slot::deferred).
//
// Use: reserve_requests() before the process gets its turn and has no deferred calls, so that it
// has handles for their requests; serve_deferred() before a request is served, whose values have
// been copied, and when the process has ended. On the fiber of the channel.
#pragma once

#include "core/remote/process.h"

namespace sesame::remote {

// Replaces the reserved handles that have been taken.
void reserve_requests(Channel& channel);

// Runs the calls in the order in which they were made. Only a wrong one calls a function
// of the program, its error handler, and then ends the run.
void serve_deferred(Channel& channel);

}  // namespace sesame::remote
