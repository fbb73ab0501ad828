// Ranks whose processes compute while the simulator serves others, so that all processors of the
// host are used. Their fibers are blocked. The executive fires only events that are earlier than
// anything a computing rank can do next (progress.h). So a run is one of those that another order
// of ready fibers gives, and results do not depend on it.
//
// In a worker of a parallel simulation other workers' frames are taken meanwhile, and their fibers
// run: the worker counts as busy, so nothing is taken for safe that these processes may still
// cause.
//
// Threads of a process that call MPI compute like ranks, except while all threads of their process
// wait (threads.h).
//
// Use: start_computing() once; then await() in the fiber of a thread that has been given the turn.
// The simulator's thread only.
#pragma once

#include "core/remote/process.h"
#include "core/remote/wire.h"

namespace sesame::remote {

struct ComputingStart {
  SlotsHead& head;
  uint32_t spins;  // how often the simulator looks for a call before it sleeps
  size_t at_once;  // so many processes compute at once; 1: each fiber waits for its own
  pdes::Executive& executive;
  // Called with a process that has ended in a call, when only deadlock is left; must end the job.
  void (*ended_in_call)(const Process& process);
  // A process that a signal has ended; null: none. And what is called with it if its rank waits
  // while others compute; must end the job.
  const std::atomic<const Process*>& killed;
  void (*was_killed)(const Process& process);
  int64_t silence_ns;  // how long no rank may call until this is reported (silence.h)
};
void start_computing(const ComputingStart& start);

// Waits until the thread has made a request or has ended, while other fibers run.
void await(Channel& channel);
// The same while none runs.
void await_alone(Channel& channel);

// Waits, in another fiber of the rank than that which serves it, until the thread waits for the
// simulator and its request has been read.
void await_idle(Channel& channel);

}  // namespace sesame::remote
