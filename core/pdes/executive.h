// The sequential executive of the simulation: runs ready fibers until none is left, then fires the
// earliest conditional event. This event is safe: with all fibers blocked everything that still
// happens is caused by it or by a later event. A fiber that resumes later than the event cannot
// cause anything before it either, so such fibers are collected and resume together, which uses the
// processor's caches better. So does depth first: a fiber that another one wakes runs before those
// that are ready already (but for one in 1,024), and finds what the two share in the cache.
// Otherwise fibers run in the order in which they became ready. Fibers that begin something
// together may line_up() before it. Runs are deterministic: events fire in the order (time,
// EventOrder). Only fibers that wait for something outside the simulation become ready in any
// order.
//
// Use: prepare() fibers, make_ready() them, and call run(), which returns when nothing is left to
// do. Inside a fiber: block() to wait, after arranging that an event or another fiber calls
// make_ready() for it; finish() at the end. Fibers keep their own simulated clocks; the executive
// knows only the times of events. It owns neither fibers nor events. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "core/base/time_stamp.h"
#include "core/pdes/event_queue.h"
#include "core/pdes/fiber.h"
#include "core/pdes/synchronizer.h"

namespace sesame::pdes {

class Executive {
 public:
  // Called before a switch to a fiber (null: back to run()). Must not switch fibers.
  using SwitchHook = void (*)(Fiber* next);
  // Called once in 16,384 switches on the fiber that runs, for progress display.
  using TickHook = void (*)();
  // Called when a fiber blocks, yields or ends, before another one runs, for work that it deferred.
  // Must not switch fibers.
  using YieldHook = void (*)(void* context);

  // Called for the next ready fiber when another one is about to resume. The object of `next` is in
  // the cache; the hook can start loading what it points to.
  using PrefetchHook = void (*)(const Fiber& next);

  // Called when no fiber is ready, before an event is fired at `next` (never: none may fire).
  // Fibers that wait for something outside the simulation (computation in another process) may
  // cause anything from their clocks on. The hook waits until it has called make_ready() for one of
  // them, or take_arrivals() has taken something, and returns true; or until it knows that they
  // cause nothing up to `next`, or that there are none, and returns false.
  using OutsideHook = bool (*)(void* context, SimTime next);
  // Whether the hook would now make one ready. Called while the hook is not: this executive waits
  // for others, and what it looks for rings the doorbell at which it waits.
  using OutsideLook = bool (*)(void* context);

  void set_outside_hook(OutsideHook hook, OutsideLook look, void* context) {
    on_outside_ = hook;
    look_outside_ = look;
    outside_context_ = context;
  }
  bool has_outside_call() const {
    return look_outside_ != nullptr && look_outside_(outside_context_);
  }
  // For the hook while it waits, and where a fiber yields or is to run. Whether other executives
  // have sent something that may be taken before any event fires here; take_arrivals() takes it. It
  // returns whether there was any: perhaps only a part has arrived.
  bool has_arrivals() const {
    return synchronizer_ != nullptr && synchronizer_->has_arrivals() && !may_fire_model();
  }
  bool take_arrivals();
  // Whether the run is being stopped: the hook then calls stop().
  bool is_stopped() const { return synchronizer_ != nullptr && synchronizer_->is_stopped(); }
  // Whether only the outside can cause anything: nothing is ready and no event is left, here and in
  // all other executives.
  bool is_stuck() const {
    return !has_ready() && events_.empty() && model_events_.empty() &&
           (synchronizer_ == nullptr || synchronizer_->is_stuck());
  }
  void set_switch_hook(SwitchHook hook) { on_switch_ = hook; }
  void set_prefetch_hook(PrefetchHook hook) { on_prefetch_ = hook; }
  void set_tick_hook(TickHook hook) { on_tick_ = hook; }
  void set_yield_hook(YieldHook hook, void* context) {
    on_yield_ = hook;
    yield_context_ = context;
  }
  // Sets the memory that each fiber uses whenever it resumes. It is loaded into the cache shortly
  // before: `bytes` bytes that start `before` bytes before the Fiber object. The object that
  // contains the Fiber must cover them.
  void set_hot_range(size_t before, size_t bytes) {
    hot_before_ = before;
    hot_bytes_ = bytes;
  }

  // Makes this executive one of several that simulate together: events fire only before the bound
  // that the synchronizer sets with allow_until(), at first none. Not owned.
  void set_synchronizer(Synchronizer* synchronizer) {
    synchronizer_ = synchronizer;
    bound_ = SimTime::zero();
  }
  void allow_until(const SimTime& bound) { bound_ = bound; }
  // From now on events also fire if they are independent of the other executives
  // (ConditionalEvent::is_independent()).
  void fire_independent_events() { fires_independent_ = true; }
  // Gives fibers time slices (yield_after_slice()), and takes what other executives have sent
  // before each fiber runs. REQUIRES: there is a synchronizer.
  void use_time_slices() { has_slices_ = true; }
  // The executives that simulate together have copies of some models (shared file systems). The
  // events of these models are in a queue of their own, the same in each executive. They fire, and
  // exclusive events use the models, in the order of all events of all executives. allow_turn()
  // allows the next ones of them: model events before `limit` and the own event at `limit`. The
  // turn ends when a model event has an effect outside the models or an exclusive event has fired.
  EventQueue& model_events() { return model_events_; }
  bool may_use_models() const { return synchronizer_ == nullptr || synchronizer_->gives_turns(); }
  EventKey first_model_event() const;
  void allow_turn(const EventKey& limit) { turn_limit_ = limit; }
  void end_turn() { turn_limit_ = EventKey{INT64_MIN, 0}; }
  // Whether the last event was exclusive, and nothing of other executives has come since: this
  // executive may use the models.
  bool has_turn() const { return synchronizer_ == nullptr || has_turn_; }
  // While a fiber here waits for the models, which may wake it at any time, also its own events
  // wait for their turn. +1: a fiber begins to wait; -1: it ends.
  void add_model_waits(int change) { model_waits_ += change; }

  // For comparisons of protocols: whether fibers also wait where they know the outcome, until no
  // synchronizer can learn of anything earlier (the receives that name their source). Changes no
  // result.
  void set_confirms_receives(bool confirms) { confirms_receives_ = confirms; }
  bool confirms_receives() const { return confirms_receives_; }

  // Runs ready fibers in a random order from now on, for tests: results must not depend on the
  // order.
  void shuffle(uint64_t seed);

  // Lets a fiber run: a new one, or one that is blocked. REQUIRES: it is not ready already.
  void make_ready(Fiber& fiber);
  // The same for a fiber that causes nothing before `resumes`. In an event it stays blocked until
  // that time, so that others which earlier events wake resume together with it.
  void make_ready_at(Fiber& fiber, SimTime resumes);

  // Blocks the running fiber until make_ready() is called for it.
  void block();
  // To be called in a fiber, often, wherever others may run. Where fibers have time slices and this
  // one has run for one, takes what other executives have sent and lets the fibers that are ready
  // run first: what they send may be all that another executive waits for. The slice begins with
  // the first of these calls since the fiber resumed. Also yields when fibers run in a random
  // order.
  void yield_after_slice() {
    if (shuffle_ != nullptr || (has_slices_ && has_used_slice())) [[unlikely]]
      yield();
  }
  // To be called in a fiber that begins something in which many take part: lets the others that are
  // ready run first, and with them those that they wake. The fibers that line up resume in the
  // order of their places. So each finds what its neighbours have just used in the cache, in
  // whatever order they came (docs/decisions/0006-loading-ahead.md).
  void line_up(uint64_t place);
  // The running fiber, if any, has sent something to another executive, which may wait for what it
  // sends next: the next times that it becomes ready it runs before the others.
  void prefer_current() {
    if (current_fiber != nullptr && !is_firing_) current_fiber->preferred_ = kPreferredTimes;
  }
  // Ends the running fiber for ever. Never returns, so destructors of objects on its stack do not
  // run. Calls `on_left` with it once, on another stack, so that its own can be freed: when a
  // blocked fiber or run() resumes, or another fiber ends, whichever is first. `on_left` must not
  // switch fibers.
  [[noreturn]] void finish(void (*on_left)(Fiber*));

  EventQueue& events() { return events_; }
  // Whether an event is being fired. No fiber runs then, although current_fiber may not be null.
  bool is_firing() const { return is_firing_; }
  bool has_ready() const {
    return preferred_head_ != nullptr || ready_head_ != nullptr || later_head_ != nullptr ||
           !line_.empty() || (shuffle_ != nullptr && !shuffle_->ready.empty());
  }

  // Runs until no fiber is ready and no event is pending. Fibers that have not finished then are
  // blocked for ever (a deadlock); the caller has to check that.
  void run();
  // To be called in a fiber: makes run() return at once. All fibers stay where they are.
  [[noreturn]] void stop();

  uint64_t switches() const { return switches_; }

 private:
  struct InLine {
    uint64_t place;
    Fiber* fiber;
  };
  struct Shuffle {
    std::mt19937_64 random;
    std::vector<Fiber*> ready;
  };

  // Time slices, in ticks of the processor's counter of time: some 200 us, and some 20 us while
  // another executive waits. A switch with the caches that it empties costs about 1 us. LU waits
  // least with these (docs/models/parallel.md).
  static constexpr uint64_t kSliceTicks = 500'000, kShortSliceTicks = 50'000;
  // A choice: a rank of LU receives twice between two messages to its neighbour, and some of these
  // receives find their message at once.
  static constexpr uint8_t kPreferredTimes = 8;

  bool has_used_slice() {
    const uint64_t now = read_time_stamp();
    if (slice_begin_ == 0) slice_begin_ = now;
    const uint64_t ticks = now - slice_begin_;
    return ticks > kShortSliceTicks && (ticks > kSliceTicks || synchronizer_->is_awaited());
  }
  void yield();
  Fiber* take_next();
  // Before a fiber runs. Not if it is to use the models: it would lose its turn.
  bool takes_arrivals_first() const {
    return has_slices_ && !has_turn_ && (preferred_head_ != nullptr || ready_head_ != nullptr);
  }
  // In front of the ready fibers, and behind them. REQUIRES: `ready_` is set, `next_ready_` is not.
  void prepend(Fiber& fiber);
  void append(Fiber& fiber);
  void release_line();
  bool is_woken_by_another(const Fiber& fiber) const {
    return current_fiber != nullptr && current_fiber != &fiber && !is_firing_ && !awaits_outside_;
  }
  bool may_fire() const {
    return synchronizer_ == nullptr ? !events_.empty() : may_fire_in_parallel();
  }
  bool may_fire_in_parallel() const;
  bool may_fire_model() const { return first_model_event() < turn_limit_; }
  bool needs_independence() const;
  bool is_first_independent() const;
  bool is_model_next() const {
    return synchronizer_ != nullptr && first_model_event() < events_.first();
  }
  SimTime earliest() const {
    return is_model_next() ? model_events_.earliest() : events_.earliest();
  }
  bool await_outside();
  void fire_next();
  bool synchronize();
  void catch_up();
  void resume_later();
  Fiber* take_ready();
  void prefetch_next();
  void prefetch_object(const Fiber& fiber) const;
  // Starts to load what the fiber uses when it resumes, but for its object.
  void prefetch_context(const Fiber& fiber) const;
  void switch_to(Fiber* next);
  void after_switch();

  Fiber main_;                       // the context of run()
  Fiber* preferred_head_ = nullptr;  // these run before:
  Fiber* preferred_tail_ = nullptr;
  Fiber* ready_head_ = nullptr;
  Fiber* ready_tail_ = nullptr;
  std::vector<InLine> line_;          // these run after the ready ones
  size_t appends_ = 0;                // behind the ready ones since the first of them came
  std::unique_ptr<Shuffle> shuffle_;  // if not null, it has the ready fibers instead of the list
  Fiber* finished_ = nullptr;
  void (*on_left_)(Fiber*) = nullptr;
  SwitchHook on_switch_ = nullptr;
  TickHook on_tick_ = nullptr;
  YieldHook on_yield_ = nullptr;
  PrefetchHook on_prefetch_ = nullptr;
  void* yield_context_ = nullptr;
  OutsideHook on_outside_ = nullptr;
  OutsideLook look_outside_ = nullptr;
  void* outside_context_ = nullptr;
  size_t hot_before_ = 0;
  size_t hot_bytes_ = sizeof(Fiber);
  EventQueue events_;
  Synchronizer* synchronizer_ = nullptr;  // null: this is the only executive of the run
  SimTime bound_;                         // of events, if there is a synchronizer
  bool has_slices_ = false;
  uint64_t slice_begin_ = 0;  // of the running fiber; 0: it has not started
  EventQueue model_events_;   // empty if there is none
  EventKey turn_limit_{INT64_MIN, 0};
  bool has_turn_ = false;
  int model_waits_ = 0;
  bool fires_independent_ = false;
  uint32_t independent_events_ = 0;  // that have fired after the bound since the last catch_up()
  bool is_firing_ = false;
  bool confirms_receives_ = false;
  // Fibers that resume together, none before `resumes_`.
  Fiber* later_head_ = nullptr;
  Fiber* later_tail_ = nullptr;
  SimTime resumes_ = SimTime::never();
  uint64_t switches_ = 0;
  bool awaits_outside_ = false;
  uint64_t wakes_ = 0;  // of fibers by others
};

}  // namespace sesame::pdes
