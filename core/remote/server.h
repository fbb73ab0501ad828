// The simulator's side of ranks that are processes: runs the calls of a rank's process on the
// rank's fiber.
//
// Use: start_serving() once with all processes, then serve_rank() as the body of each rank's fiber;
// it returns when the rank's program has ended. serve_thread() is for the strands of its other
// threads (threads.h). One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/remote/messages.h"
#include "core/remote/process.h"

namespace sesame::remote {

struct ServingStart {
  Processes& processes;
  SlotsHead& head;
  // Called with the binary interface of a process when it connects.
  void (*connected)(const std::string& interface);
};
void start_serving(const ServingStart& start);
void serve_rank(Process& process);
void serve_thread(Channel& channel);

// The process of the rank whose strand runs.
Process& this_process();
// The thread of it that runs functions for this strand: the strand's own or, for a helper strand,
// one that waits for the simulator if there is any.
Channel& this_channel();

Writer begin_callback(Channel& channel, CallbackKindOnWire what);
Reader finish_callback(Channel& channel, const Writer& writer);

// How many functions that MPI calls may be within one another; more end the job. Each takes about 5
// KB of the fiber's stack here.
inline constexpr int kMostCallbacks = 100;

// Asks a thread of the rank's process to run one of its functions, and serves the calls that it
// makes meanwhile. `write` puts the arguments; returns a reader of the result, valid until the next
// request or reply.
template <typename Write>
Reader ask_program(Channel& channel, CallbackKindOnWire what, Write&& write) {
  Writer writer = begin_callback(channel, what);
  write(writer);
  return finish_callback(channel, writer);
}

}  // namespace sesame::remote
