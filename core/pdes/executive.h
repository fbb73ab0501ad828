// The sequential executive: runs ready fibers until none is left, then takes the earliest
// conditional event. With every fiber blocked that event is safe, since whatever happens later is
// caused by it or by a later one. Deterministic: fibers run in the order in which they became
// ready, events in the order (time, EventOrder).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "core/pdes/event_queue.h"
#include "core/pdes/fiber.h"

namespace sesame::pdes {

// The fiber that runs on this thread; null outside fibers and on threads a program made itself.
extern constinit thread_local Fiber* current_fiber;

class Executive {
 public:
  // `on_switch` is called before a fiber gets control (null: back in run()). It must not switch.
  using SwitchHook = void (*)(Fiber* next);
  // `on_tick` is called now and then from whatever fiber runs, for progress display.
  using TickHook = void (*)();
  // `on_yield` is called when a fiber gives way or ends: the place for work that was put off. It
  // must not switch.
  using YieldHook = void (*)(void* context);

  // `on_approach` is called for the fiber that runs after the one that resumes now: it is
  // in the cache, and what it points to can be loaded ahead.
  using ApproachHook = void (*)(const Fiber& next);

  void set_switch_hook(SwitchHook hook) { on_switch_ = hook; }
  void set_approach_hook(ApproachHook hook) { on_approach_ = hook; }
  void set_tick_hook(TickHook hook) { on_tick_ = hook; }
  void set_yield_hook(YieldHook hook, void* context) {
    on_yield_ = hook;
    yield_context_ = context;
  }
  // The part of the objects that hold the fibers that a fiber needs whenever it resumes: it is
  // loaded into the cache shortly before. It begins `before` bytes before the fiber.
  void set_hot_range(size_t before, size_t bytes) {
    hot_before_ = before;
    hot_bytes_ = bytes;
  }

  // Ready fibers run in an order drawn from the seed from now on, not first in, first out. What a
  // simulation computes must not depend on it.
  void shuffle(uint64_t seed);

  void make_ready(Fiber& fiber);

  // Gives way until someone calls make_ready() on the running fiber.
  void block();
  // Ends the running fiber: it is never switched to again. Its stack may be reused once another
  // fiber runs; `on_gone` is called there.
  [[noreturn]] void finish(void (*on_gone)(Fiber*));

  EventQueue& events() { return events_; }
  // Whether events are being fired: no fiber runs then, although one may be the current one.
  bool is_firing() const { return is_firing_; }
  bool has_ready() const {
    return ready_head_ != nullptr || (shuffle_ != nullptr && !shuffle_->ready.empty());
  }

  // Runs until no fiber is ready and no event is pending. Whether all fibers have finished by
  // then, or some are blocked for ever, is for the caller to see.
  void run();
  // Makes run() return at once, from inside a fiber; the other fibers are left where they are.
  [[noreturn]] void stop();

  uint64_t switches() const { return switches_; }

 private:
  struct Shuffle {
    std::mt19937_64 random;
    std::vector<Fiber*> ready;
  };

  Fiber* take_next();
  Fiber* take_ready();
  void prepare_next();
  void switch_to(Fiber* next);
  void after_switch();

  Fiber main_;  // the context of run()
  Fiber* ready_head_ = nullptr;
  Fiber* ready_tail_ = nullptr;
  std::unique_ptr<Shuffle> shuffle_;  // has the ready fibers where there is one
  Fiber* gone_ = nullptr;
  void (*on_gone_)(Fiber*) = nullptr;
  SwitchHook on_switch_ = nullptr;
  TickHook on_tick_ = nullptr;
  YieldHook on_yield_ = nullptr;
  ApproachHook on_approach_ = nullptr;
  void* yield_context_ = nullptr;
  size_t hot_before_ = 0;
  size_t hot_bytes_ = sizeof(Fiber);
  EventQueue events_;
  bool is_firing_ = false;
  uint64_t switches_ = 0;
};

}  // namespace sesame::pdes
