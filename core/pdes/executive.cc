#include "core/pdes/executive.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/prefetch.h"

extern "C" void sesame_switch_stack(void** save, void* load);

namespace sesame::pdes {

constinit thread_local Fiber* current_fiber = nullptr;

namespace {

constexpr uint64_t kSwitchesPerTick = 1 << 14;

// With thousands of fibers a fiber's memory has left the cache by the time it runs again. So while
// a fiber runs, two things are loaded: the top of the stack of the next fiber, and the object that
// contains the fiber after the next (docs/decisions/0006-loading-ahead.md).
constexpr size_t kStackBytes = 16 * kCacheLineBytes;

// One of so many fibers that others wake goes to the end of the list, so that a group that wakes
// each other without an end does not keep the others waiting.
constexpr uint64_t kWakesPerAppend = 1 << 10;

// How many independent events fire before frames of other workers are taken. A choice: an event
// takes about a microsecond, and a worker that waits looks at the rings for some hundred
// microseconds before it sleeps (Worker::wait_until()), where nothing else uses its processor.
constexpr uint32_t kEventsPerCatchUp = 64;

}  // namespace

void Executive::make_ready(Fiber& fiber) {
  CHECK(!fiber.ready_);
  fiber.ready_ = true;
  fiber.next_ready_ = nullptr;
  if (shuffle_ != nullptr) [[unlikely]] {
    shuffle_->ready.push_back(&fiber);
  } else if (fiber.preferred_ > 0) {
    --fiber.preferred_;
    (preferred_head_ == nullptr ? preferred_head_ : preferred_tail_->next_ready_) = &fiber;
    preferred_tail_ = &fiber;
  } else if (is_woken_by_another(fiber) && ++wakes_ % kWakesPerAppend != 0) {
    prepend(fiber);
  } else {
    // Those in line must not wait for others that wake each other without an end.
    if (++appends_ > line_.size()) release_line();
    append(fiber);
  }
}

void Executive::prepend(Fiber& fiber) {
  if (ready_head_ == nullptr) return append(fiber);
  fiber.next_ready_ = std::exchange(ready_head_, &fiber);
  prefetch_object(fiber);
  prefetch_context(fiber);
}

void Executive::append(Fiber& fiber) {
  (ready_head_ == nullptr ? ready_head_ : ready_tail_->next_ready_) = &fiber;
  ready_tail_ = &fiber;
}

void Executive::make_ready_at(Fiber& fiber, SimTime resumes) {
  if (!is_firing_) return make_ready(fiber);
  CHECK(!fiber.ready_);
  fiber.ready_ = true;
  fiber.next_ready_ = nullptr;
  (later_tail_ == nullptr ? later_head_ : later_tail_->next_ready_) = &fiber;
  later_tail_ = &fiber;
  resumes_ = std::min(resumes_, resumes);
}

void Executive::resume_later() {
  resumes_ = SimTime::never();
  if (shuffle_ == nullptr) {
    if (later_head_ == nullptr) return;
    (ready_tail_ == nullptr ? ready_head_ : ready_tail_->next_ready_) = later_head_;
    ready_tail_ = later_tail_;
    later_head_ = later_tail_ = nullptr;
    return;
  }
  for (Fiber* fiber = later_head_; fiber != nullptr; fiber = fiber->next_ready_) {
    shuffle_->ready.push_back(fiber);
  }
  later_head_ = later_tail_ = nullptr;
}

Fiber* Executive::take_next() {
  for (;;) {
    if (preferred_head_ == nullptr && ready_head_ == nullptr) release_line();
    if (takes_arrivals_first()) take_arrivals();
    if (Fiber* next = take_ready()) return next;
    if (later_head_ != nullptr && (earliest() >= resumes_ || !may_fire())) {
      resume_later();
      continue;
    }
    if (on_outside_ != nullptr && await_outside()) continue;
    if (!may_fire()) {
      if (synchronizer_ != nullptr && synchronize()) continue;
      return &main_;
    }
    fire_next();
  }
}

bool Executive::await_outside() {
  awaits_outside_ = true;
  const bool any = on_outside_(outside_context_, may_fire() ? earliest() : SimTime::never());
  awaits_outside_ = false;
  return any;
}

void Executive::fire_next() {
  const bool is_model = is_model_next();
  has_turn_ = !is_model && events_.first_is_exclusive();
  if (!is_model && !has_turn_ && needs_independence()) [[unlikely]] {
    if (independent_events_ == kEventsPerCatchUp) {
      independent_events_ = 0;
      return catch_up();
    }
    ++independent_events_;
  }
  if (has_turn_) end_turn();
  is_firing_ = true;
  (is_model ? model_events_ : events_).take_earliest().fire();
  is_firing_ = false;
}

// Numbers of model events differ between executives, which may have further models; their order
// does not. Before own events of the same time and class.
EventKey Executive::first_model_event() const {
  const EventKey first = model_events_.first();
  return first == EventKey::never()
             ? first
             : EventKey{first.time_ps, EventOrder{EventClass::kModel, 0, 0}.key()};
}

bool Executive::may_fire_in_parallel() const {
  if (is_model_next()) return may_fire_model();
  if (events_.empty()) return false;
  if (events_.first_is_exclusive() || model_waits_ > 0) return events_.first() <= turn_limit_;
  return !needs_independence() || is_first_independent();
}

// Whether the bound does not allow the first own event, which is not exclusive.
bool Executive::needs_independence() const {
  return synchronizer_ != nullptr && model_waits_ == 0 && events_.earliest() >= bound_;
}

// Not while models have events: these may wake any rank.
bool Executive::is_first_independent() const {
  return fires_independent_ && model_events_.empty() && events_.first_event().is_independent();
}

// Messages of other workers have their effects as if an event fired.
bool Executive::synchronize() {
  is_firing_ = true;
  has_turn_ = false;
  const bool continues = synchronizer_->synchronize(earliest());
  is_firing_ = false;
  return continues;
}

void Executive::catch_up() {
  is_firing_ = true;
  synchronizer_->catch_up(events_.earliest());
  is_firing_ = false;
}

// All fibers that it makes ready run before the outside is waited for again: what they do next may
// be computed outside, too.
bool Executive::take_arrivals() {
  if (!has_arrivals()) return false;
  is_firing_ = true;
  const bool any = synchronizer_->take_arrivals();
  is_firing_ = false;
  if (!any) return false;
  has_turn_ = false;
  resume_later();
  return true;
}

void Executive::line_up(uint64_t place) {
  if (shuffle_ != nullptr) return yield();
  if (on_yield_ != nullptr) on_yield_(yield_context_);
  if (line_.empty()) appends_ = 0;
  current_fiber->ready_ = true;
  line_.push_back({place, current_fiber});
  switch_to(take_next());
}

void Executive::release_line() {
  std::ranges::sort(line_, {}, &InLine::place);
  for (const InLine& next : line_) {
    next.fiber->next_ready_ = nullptr;
    append(*next.fiber);
  }
  line_.clear();
}

// Null when none is ready.
Fiber* Executive::take_ready() {
  Fiber* next = preferred_head_;
  if (next != nullptr) {
    preferred_head_ = next->next_ready_;
  } else if ((next = ready_head_) != nullptr) {
    ready_head_ = next->next_ready_;
    if (ready_head_ == nullptr) ready_tail_ = nullptr;
  } else if (shuffle_ != nullptr && !shuffle_->ready.empty()) {
    std::vector<Fiber*>& ready = shuffle_->ready;
    std::swap(ready[shuffle_->random() % ready.size()], ready.back());
    next = ready.back();
    ready.pop_back();
  } else {
    return nullptr;
  }
  next->ready_ = false;
  next->prefetch_count_ = next->always_count_;
  if (preferred_head_ != nullptr || ready_head_ != nullptr) prefetch_next();
  return next;
}

void Executive::shuffle(uint64_t seed) {
  shuffle_ = std::make_unique<Shuffle>();
  shuffle_->random.seed(seed);
}

void Executive::prefetch_next() {
  const Fiber& next = *(preferred_head_ != nullptr ? preferred_head_ : ready_head_);
  prefetch_context(next);
  if (next.next_ready_ != nullptr) prefetch_object(*next.next_ready_);
}

void Executive::prefetch_object(const Fiber& fiber) const {
  prefetch_bytes(reinterpret_cast<const char*>(&fiber) - hot_before_, hot_bytes_);
}

void Executive::prefetch_context(const Fiber& fiber) const {
  prefetch_bytes(fiber.stack_pointer_, kStackBytes);
  for (int i = 0; i < fiber.prefetch_count_; ++i) __builtin_prefetch(fiber.prefetch_lines_[i], 1);
  if (on_prefetch_ != nullptr) on_prefetch_(fiber);
}

void Executive::switch_to(Fiber* next) {
  Fiber* self = current_fiber == nullptr ? &main_ : current_fiber;
  slice_begin_ = 0;
  if (next == self) return;
  if ((++switches_ & (kSwitchesPerTick - 1)) == 0 && on_tick_ != nullptr) on_tick_();
  Fiber* to = next == &main_ ? nullptr : next;
  if (on_switch_ != nullptr) on_switch_(to);
  current_fiber = to;
  sesame_switch_stack(&self->stack_pointer_, next->stack_pointer_);
  after_switch();
}

void Executive::after_switch() {
  if (finished_ == nullptr) return;
  Fiber* finished = finished_;
  finished_ = nullptr;
  on_left_(finished);
}

void Executive::block() {
  if (on_yield_ != nullptr) on_yield_(yield_context_);
  switch_to(take_next());
}

void Executive::yield() {
  if (on_yield_ != nullptr) on_yield_(yield_context_);
  take_arrivals();
  make_ready(*current_fiber);  // behind those that have become ready by that
  switch_to(take_next());
}

void Executive::finish(void (*on_left)(Fiber*)) {
  if (on_yield_ != nullptr) on_yield_(yield_context_);
  after_switch();  // a new fiber starts without it: the fiber that ended before is not freed yet
  Fiber* next = take_next();
  finished_ = current_fiber;
  on_left_ = on_left;
  switch_to(next);
  CHECK(false);
}

void Executive::run() {
  CHECK(current_fiber == nullptr);
  switch_to(take_next());
}

void Executive::stop() {
  switch_to(&main_);
  CHECK(false);
}

}  // namespace sesame::pdes
