// How far ranks that compute in their processes have come at least. Nothing that a rank calls next
// is earlier than its clock when it was given the turn, and the time that its process has computed
// since. So events before that time may fire meanwhile.
//
// The time is read from the processor clock of the process (clock_getcpuclockid(3)), not from
// shared memory, which a program may overwrite. It is known only where computation is measured, of
// a process with a single thread, outside of MPI's calls, while no call of it is deferred.
//
// Use: start_progress() once; begin_progress() when the thread has been given the turn and still
// computes; reached() and read_progress() as often as wanted; end_progress() with the computation
// that its next call brings. The simulator's thread only.
#pragma once

#include "core/base/units.h"
#include "core/remote/idle_polling.h"
#include "core/remote/process.h"

namespace sesame::remote {

// `polling` counts all computation; null: processors may halt.
void start_progress(IdlePolling* polling);
void begin_progress(Channel& channel);
// The simulated time that the thread has reached at least, as far as read so far.
SimTime reached(const Channel& channel);
// Reads the processor clock. For how much host time the thread has to compute until reached() may
// be later than `time`; 0: it is later; never(): that will not be known before its next call.
SimTime read_progress(Channel& channel, SimTime time);
// `computed`, or what reached() has stood for if that is more: a damaged slot cannot take it back.
SimTime end_progress(Channel& channel, SimTime computed);

}  // namespace sesame::remote
