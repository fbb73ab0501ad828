// The threads of a rank's process that call MPI, and their simulated clocks.
//
// The simulator sees the calls of each thread, but not that one waited for another by a lock, a
// condition or the end of a parallel region. So a thread that the kernel has suspended since its
// last call, or that has joined another, is taken to have waited for the other callers: its clock
// advances to the latest of theirs. Below MPI_THREAD_MULTIPLE calls come one after another, so each
// of them is taken to have waited.
//
// Use: this_caller() is that of the running thread. begin_call() and end_call() around its
// requests, on its own thread; all others on any. Times are picoseconds, simulated unless they are
// called computed (host time) or processor time.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/mpi/messages/compute_meter.h"
#include "core/remote/wire.h"

namespace sesame::remote {

struct Caller {
  explicit Caller(Slot& slot_in);

  Slot& slot;
  int slot_number = 0;  // of threads other than the first
  mpi::ComputeMeter meter;
  SimTime uncounted;   // computed before its meter was there
  int depth = 0;       // requests that wait: more than one while a function of the program runs
  bool waits = false;  // for a reply; not while a function of the program runs
  bool has_joined = false;
  long suspensions = 0;  // by the kernel, until its last reply
  clockid_t processor_clock;
  // A pair: the clock, and the thread's processor time then. Of a thread in a call, when it began.
  std::atomic<int64_t> clock_ps = 0;
  std::atomic<int64_t> processor_ns = 0;
  std::atomic<bool> is_in_call = false;
};

// Null: the thread has not called yet.
Caller* this_caller();
// Makes this the caller of the running thread.
void add_caller(Caller& caller);
// Ends that of the running thread, and deletes it.
void remove_caller();

// The clock at which a thread starts that this one creates; that at which this one has started.
int64_t clock_for_new_thread();
void start_clock(int64_t clock_ps);
int64_t first_clock();

// The clock that a call begins with, without `computed`, which the simulator adds. 0: as the
// simulator has it.
int64_t begin_call(Caller& caller, SimTime computed, bool is_multiple);
void end_call(Caller& caller, int64_t clock_ps);

}  // namespace sesame::remote
