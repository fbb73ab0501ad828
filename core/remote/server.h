// The simulator's side of ranks that are processes: runs the calls of a rank's process on the
// rank's fiber.
//
// Use: start_serving() once with all processes, then serve_rank() as the body of each rank's fiber;
// it returns when the rank's program has ended. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/remote/messages.h"
#include "core/remote/process.h"

namespace sesame::remote {

using Processes = std::vector<std::unique_ptr<Process>>;

// `connected` is called with the binary interface of a process when it connects.
void start_serving(Processes& processes, void (*connected)(const std::string& interface));
void serve_rank(Process& process);

// The process of the rank whose strand runs.
Process& this_process();

Writer begin_callback(Process& process, CallbackKindOnWire what);
Reader finish_callback(Process& process, const Writer& writer);

// Asks the rank's process to run one of its functions, and serves the calls that it makes
// meanwhile. `write` puts the arguments; returns a reader of the result, valid until the next
// request or reply.
template <typename Write>
Reader ask_program(Process& process, CallbackKindOnWire what, Write&& write) {
  Writer writer = begin_callback(process, what);
  write(writer);
  return finish_callback(process, writer);
}

}  // namespace sesame::remote
