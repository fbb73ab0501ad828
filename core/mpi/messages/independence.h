// Whether an event of a worker is independent of all other workers of a parallel simulation
// (docs/models/parallel.md): it may then fire without synchronisation.
//
// A message can affect a receive, a probe or a test only if it comes from one of its possible
// sources: the rank that it names, or the members of its communicator. If these are ranks of this
// worker, only they decide, and each of them may be blocked on further ranks. An event is
// independent if no rank from which it can be reached in this way waits for another worker: all of
// them have clocks at the time of the event or later, have ended, or wait for each other.
//
// Use: a strand that blocks on requests or in a probe keeps an AwaitedScope meanwhile. Events
// answer ConditionalEvent::is_independent() with these functions. They may say no although the
// answer is yes; then the event waits for the protocol. They visit kMostVisited ranks at most.
// REQUIRES: no strand is running, and no event of this worker is earlier. One thread.
#pragma once

#include <span>

#include "core/base/units.h"
#include "core/mpi/messages/message.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

// A choice: visiting so many ranks takes about as long as a round of the protocol, some tens of
// microseconds, since each one is a few cache misses. With more the protocol is asked.
inline constexpr int kMostVisited = 256;

// What a blocked strand waits for: requests, all of them unless Strand::awaits_any, or a message
// for a probe.
struct Awaited {
  std::span<RequestObject* const> requests;
  const Selector* probed = nullptr;
};

// Lets the running strand say what it waits for, until the scope ends. Keeps a pointer to
// `awaited`.
class AwaitedScope {
 public:
  AwaitedScope(Strand& strand, const Awaited& awaited) : strand_(strand) {
    strand.awaited = &awaited;
  }
  ~AwaitedScope() { strand_.awaited = nullptr; }
  AwaitedScope(const AwaitedScope&) = delete;
  AwaitedScope& operator=(const AwaitedScope&) = delete;

 private:
  Strand& strand_;
};

// The match of `message`, the earliest one, with `receive`, a receive from any source of `rank`.
bool is_match_independent(const Rank& rank, const RequestObject& receive,
                          const QueuedMessage& message);
// The end of a probe at `time`. `message`: the one that it will find; null if there is none yet.
bool is_probe_independent(const Rank& rank, const Selector& selector, const QueuedMessage* message,
                          const SimTime& time);
// The strand resumes at `time`, since it has yielded until then or one of its requests is complete.
bool is_wake_independent(const Strand& strand, const SimTime& time);

}  // namespace sesame::mpi
