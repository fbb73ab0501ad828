// Threads of rank processes that call MPI: each is a strand of the rank, with a clock of its own.
// (The one that started the program is the rank's main strand.)
//
// A thread takes a slot at its first call. Its clock starts where the clock of the thread that
// created it was; the process says so (Header::clock_ps). While a thread computes, no event fires;
// but one that waits for another thread of its process must not hold up the events that this one
// waits for. all_wait() finds that out.
//
// The same holds for a thread that has been created and has not called yet, until it is seen to
// wait: its first call may be earlier than any event.
//
// Use: start_threads() once; then start_arrived() whenever has_arrived(). Times are simulated. The
// simulator's thread only.
#pragma once

#include "core/remote/process.h"
#include "core/remote/slots_file.h"

namespace sesame::remote {

struct ThreadsStart {
  SlotsFile& file;
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

// Whether a process that may call MPI from several threads has created one that has not been seen
// to wait, and some thread of it does something outside MPI.
bool any_new_thread_runs();
// Takes the threads created so far for ones that will not call.
void forget_new_threads();

// Whether any thread of the process does something.
bool any_runs(const Process& process);
// Whether any thread of any process does something, also one that has never called. Threads that
// wait in MPI sleep soon.
bool any_thread_runs();
// Whether a thread sleeps outside MPI and waits for more than other threads of its process: a time,
// a file, another process, …; or a process is about to end.
bool any_thread_may_wake();
// The process that has ended while the thread which started its MPI was in a call. Null: none.
const Process* ended_in_call();

// The channel of a strand of the rank; null: it is a helper strand.
Channel* channel_of(Process& process, const mpi::Strand& strand);

}  // namespace sesame::remote
