// A thread of control of a rank, with its own simulated clock: the rank's program, or a helper
// strand that runs one non-blocking collective or file operation.
//
// Use: self() is the strand that runs now. Code that advances the simulated time adds to
// Strand::now; code that waits calls waiting.h, or blocks the strand's executive after arranging
// that something calls make_ready() for it.
//
// A rank owns its program's strand, World the helper strands; they do not move or end before the
// run does. Times are simulated. All strands belong to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/base/units.h"
#include "core/pdes/event_queue.h"
#include "core/pdes/executive.h"
#include "core/pdes/fiber.h"

namespace sesame::mpi {

struct Rank;
struct RequestObject;

struct Strand : pdes::Fiber {
  // Resumes the strand, which must be blocked (schedule_wake() in waiting.h).
  struct Wake : pdes::ConditionalEvent {
    void fire() override;
    Strand* strand = nullptr;
  };

  int outstanding = 0;         // requests that must complete before the strand resumes
  bool awaits_any = false;     // any completion schedules the event `wake` below
  bool awaits_helper = false;  // a helper strand of the rank completes one of these requests
  bool ended = false;          // the rank's program has ended; not set for helper strands
  Rank* rank = nullptr;
  pdes::Executive* executive = nullptr;  // that of the run
  SimTime now;
  SimTime waited;  // simulated time spent blocked, for the rank's table
  Wake wake;
  int idle_polls = 0;                              // polls in a row that found nothing
  uint32_t rank_number = 0;                        // Rank::id
  SimTime idle_since;                              // time of the first of them
  uint32_t number = 0;                             // 0: the program; helper strands as they start
  int clock_reads = 0;                             // in a row, without an MPI call between them
  int call_depth = 0;                              // > 0 while inside an MPI call
  uint16_t call = 0;                               // the CallId of the outermost call
  SimTime call_begin;                              // of that call
  const void* caller = nullptr;                    // the return address of that call
  const RequestObject* waiting_request = nullptr;  // an outstanding one, or what is probed
  std::function<void()> body;                      // helper strands only
  int saved_errno = 0;
  uint32_t busy_index = 0;  // helper strands only: its index in World::busy_strands()

  // What the strand does now: a step of paths (SimTime::pass).
  PathPlace place(PathKind kind = PathKind::kCall) const {
    return {rank_number, kind, call, call == 0 ? nullptr : caller};
  }
  // The strand's time for something that it starts and that continues elsewhere: a message, an
  // access to a file.
  SimTime departure() const {
    SimTime time = now;
    time.depart(place());
    return time;
  }
  // Advances the clock to the end of a wait, if it is not there yet. Returns how long it waited.
  SimTime wait_until(const SimTime& time, PathKind kind = PathKind::kMessage) {
    const SimTime wait = time > now ? elapsed(now, time) : SimTime::zero();
    now = later(std::move(now), time);
    now.arrive(place(kind));
    return wait;
  }

  // The order of the strand's events among those of the same time.
  pdes::EventOrder wake_order() const { return {pdes::EventClass::kWake, rank_number, number}; }
};

// The strand that runs on this thread. Ends the simulator with a message if there is none: then a
// thread that the program started itself has called MPI.
[[noreturn, gnu::cold]] Strand& abort_foreign_thread();
inline Strand& self() {
  pdes::Fiber* fiber = pdes::current_fiber;
  return fiber != nullptr ? *static_cast<Strand*>(fiber) : abort_foreign_thread();
}

}  // namespace sesame::mpi
