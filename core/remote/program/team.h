// The computation of a rank whose program has started threads: what its team did.
//
// Threads of the host take turns on its processors, so their wall-clock time says nothing about the
// target. Two things are known of an interval: the processor time of each thread, and the number of
// cores that the target gives the rank. It is assumed to take as long as its busiest thread
// computed, and at least the processor time of all threads divided by the cores. So threads that
// wait for each other in turn are taken to overlap. Threads that call MPI have clocks of their own
// (callers.h), and are not of the team.
//
// Use: join_team() in each thread, start_team() when the process becomes the rank, team_time() for
// each interval that the first thread computed. Times are host time. Threads may start and end
// meanwhile; team_time() is called by one thread at a time.
#pragma once

#include <time.h>

#include "core/base/units.h"

namespace sesame::remote {

void start_team(int cores);

// Makes the calling thread one of the team until it ends. leave_team() ends that now, and returns
// what the thread has computed and team_time() has not counted.
void join_team();
SimTime leave_team();
bool has_team();

// The computation of the team in an interval that the calling thread computed for `own`. Threads
// are looked at once in some 50 us of wall-clock time, which takes a system call for each.
SimTime team_time(SimTime own);

// The processor clock of the calling thread, for any thread, and its time.
clockid_t clock_of_this_thread();
int64_t processor_ns(clockid_t clock);

}  // namespace sesame::remote
