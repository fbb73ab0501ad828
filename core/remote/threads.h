// Threads of rank processes that call MPI: each is a strand of the rank, with a clock of its own.
// (The one that started the program is the rank's main strand.)
//
// A thread takes a slot at its first call. Its clock starts where the clock of the thread that
// created it was; the process says so (Header::clock_ps). While a thread computes, no event fires;
// but one that waits for another thread of its process must not hold up the events that this one
// waits for. all_wait() finds that out.
//
// Use: start_threads() once; then start_arrived() whenever has_arrived(). Times are simulated. The
// simulator's thread only.
#pragma once

#include "core/remote/process.h"
#include "core/remote/wire.h"

namespace sesame::remote {

struct ThreadsStart {
  Doorbell& bell;
  int file;  // of the slots
  Processes& processes;
  mpi::World& world;
  void (*serve)(Channel& channel);  // the body of a thread's strand; returns when it has ended
};
void start_threads(const ThreadsStart& start);

// Whether a thread waits for its first call to be served.
bool has_arrived();
// Starts a strand for each of them; whether there was one.
bool start_arrived();

// Whether each thread of the process sleeps in the kernel or waits for the simulator, at least one
// for the simulator: it does nothing until a call returns.
bool all_wait(const Process& process);

// Whether any thread of any process does something outside MPI, also one that has never called.
bool any_thread_runs();

// The channel of a strand of the rank; null: it is a helper strand.
Channel* channel_of(Process& process, const mpi::Strand& strand);

}  // namespace sesame::remote
