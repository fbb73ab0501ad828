// The connection of a rank's process to the simulator: libsesame-rank.so, which is preloaded into
// every process that a rank starts. A process becomes the rank when it loads the MPI library of
// Sesame; until then, and in children that it forks, nothing here changes anything.
//
// Use: sesame_rank_connect() once; then, for each request, write its values to the message of the
// slot of the running thread, sesame_rank_exchange(), and read the reply's values from the same
// memory before the next request. Any thread. Ends the process with a message if it cannot be the
// rank.
#pragma once

#include <cstdint>

#include "core/remote/messages.h"
#include "core/remote/program/shared.h"
#include "core/remote/wire.h"

namespace sesame::remote {

// Runs the function of the program that the reply at `reply` asks for, and writes its result.
using CallbackRunner = void (*)(Reader& reply, Writer& result);

// `interface`: "mpich", "mpiabi" or "openmpi". Returns null where the process is no rank of a
// simulation: MPI cannot be used then.
SESAME_SHARED Slot* sesame_rank_connect(const char* interface, CallbackRunner runner);
// The slot of this process; null: it is not connected, or this is a child of the process that is.
SESAME_SHARED Slot* sesame_rank_slot();
// That of the running thread, which takes one at its first call; null as above.
SESAME_SHARED Slot* sesame_rank_join();
// The same if the thread has one.
SESAME_SHARED Slot* sesame_rank_thread_slot();
// Says that the process ends by exit(), which our C library may not see.
SESAME_SHARED void sesame_rank_say_goodbye();
// What the process has done since it connected is not the rank's computation.
SESAME_SHARED void sesame_rank_begin_computing();
// Tells the simulator that a thread is about to be created.
SESAME_SHARED void sesame_rank_count_thread();
// Called when the process has become the rank, with the simulator's answer; before it starts
// another one; and before it ends.
struct ConnectionListener {
  void (*connected)(int rank, Reader answer) = nullptr;
  void (*starts_process)() = nullptr;
  void (*ends)() = nullptr;
};
// Before the process becomes the rank.
void set_listener(const ConnectionListener& listener);

// Sends the request whose values have been written to the slot, and waits for its reply.
SESAME_SHARED void sesame_rank_exchange(Header header);
// The same for the first and the last request of a call that makes several. What the thread
// computes between them is not the program's.
void begin_exchanges(const Header& header);
void end_exchanges(const Header& header);
// Whether the thread, which has a slot, may defer calls: it is the only one of the process, and in
// no function that MPI has called.
SESAME_SHARED bool sesame_rank_may_defer();
// Defers a call with these values (Slot::deferred); false: there is no space.
SESAME_SHARED bool sesame_rank_defer(Header header, const char* values);
// Whether this is a child that the thread has made by vfork(): it has the memory of the rank.
bool is_vforked();
// Whether a request of the thread waits for its reply, so that no other one may start.
SESAME_SHARED bool sesame_rank_is_busy();

// Called by vfork (tracer/vfork.S), the second one in the parent only: `result` is that of the
// system call, and it returns what vfork returns.
extern "C" __attribute__((visibility("hidden"))) void sesame_before_vfork();
extern "C" __attribute__((visibility("hidden"))) int sesame_after_vfork(int result);

}  // namespace sesame::remote
