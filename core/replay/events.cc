#include "core/replay/events.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "core/base/check.h"
#include "core/replay/clock.h"

namespace sesame::replay {
namespace {

constexpr int kSpins = 400;  // some 10 µs

void raise_to(std::atomic<int64_t>* most, int64_t value) {
  int64_t seen = most->load(std::memory_order_relaxed);
  while (seen < value && !most->compare_exchange_weak(seen, value, std::memory_order_acq_rel)) {
  }
}

void futex_wait(std::atomic<uint32_t>* word, uint32_t value) {
  const timespec at_most{0, 100'000'000};  // then `stop` is checked
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &at_most, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Events::Events(const Plan& plan, bool may_spin, Notify notify)
    : plan_(plan),
      events_(std::make_unique<Event[]>(plan.events.size())),
      may_spin_(may_spin),
      notify_(std::move(notify)) {
  for (size_t i = 0; i < plan.events.size(); ++i) {
    events_[i].missing = plan.events[i].arrivals + plan.events[i].tokens;
    events_[i].missing_here = plan.events[i].arrivals;
  }
}

void Events::arrive(uint32_t number, int64_t time_ns) {
  Event& event = events_[number];
  raise_to(&event.time_ns, time_ns);
  const PlanEvent& planned = plan_.events[number];
  if (planned.targets > 0 && event.missing_here.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const int64_t latest = event.time_ns.load(std::memory_order_relaxed);
    for (uint32_t target : plan_.targets.subspan(planned.first_target, planned.targets)) {
      notify_(target, number, latest);
    }
  }
  count_down(&event);
}

void Events::take_token(uint32_t number, int64_t time_ns) {
  CHECK(number < plan_.events.size());
  raise_to(&events_[number].time_ns, time_ns);
  count_down(&events_[number]);
}

void Events::count_down(Event* event) {
  raise_to(&event->at_ns, now_ns());
  const uint32_t before = event->missing.fetch_sub(1, std::memory_order_seq_cst);
  CHECK(before > 0);
  if (before == 1 && event->sleepers.load(std::memory_order_seq_cst) > 0) {
    futex_wake_all(&event->missing);
  }
}

Events::Happened Events::wait(uint32_t number, bool keeps_processor,
                              const std::atomic<bool>& stop) {
  Event& event = events_[number];
  const bool is_waited_for = event.missing.load(std::memory_order_acquire) != 0;
  for (int64_t i = 0; keeps_processor || (may_spin_ && i < kSpins); ++i) {
    if (event.missing.load(std::memory_order_acquire) == 0) break;
    if (stop.load(std::memory_order_relaxed)) break;
    __builtin_ia32_pause();
  }
  if (event.missing.load(std::memory_order_acquire) != 0) {
    event.sleepers.fetch_add(1, std::memory_order_seq_cst);
    for (uint32_t missing; (missing = event.missing.load(std::memory_order_seq_cst)) != 0;) {
      if (stop.load(std::memory_order_relaxed)) break;
      futex_wait(&event.missing, missing);
    }
    event.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  return {event.time_ns.load(std::memory_order_relaxed),
          event.at_ns.load(std::memory_order_relaxed), is_waited_for};
}

}  // namespace sesame::replay
