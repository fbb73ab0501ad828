#include "core/replay/clock.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace sesame::replay {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLongestSleep = 100'000'000;  // then `stop` is checked
constexpr int64_t kMostSpin = 200'000;          // later wake-ups are those of a busy machine
constexpr int64_t kLeastSpin = 2'000;
constexpr int64_t kShortComputation = 50'000;

void sleep_until(int64_t when_ns) {
  const timespec when{when_ns / kSecond, when_ns % kSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

int64_t read_clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

const Clocks kSystemClocks{now_ns, [] { return read_clock(CLOCK_THREAD_CPUTIME_ID); }};

void ask_for_exact_timers() { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

Waiter Waiter::measured(bool processor_for_each_thread) {
  ask_for_exact_timers();
  std::array<int64_t, 64> late;
  for (int64_t& one : late) {
    const int64_t when = now_ns() + 150'000;
    sleep_until(when);
    one = now_ns() - when;
  }
  std::ranges::sort(late);
  Waiter waiter;
  waiter.wake_up_ = {late[late.size() / 2], late[late.size() - 1]};
  // The sample is small: half as much again leaves fewer wake-ups uncovered.
  const int64_t covered =
      processor_for_each_thread ? waiter.wake_up_.latest_ns * 3 / 2 : waiter.wake_up_.median_ns;
  waiter.spin_ns_ = std::clamp(covered, kLeastSpin, kMostSpin);
  return waiter;
}

int64_t Waiter::spin_until(int64_t when_ns, const std::atomic<bool>& stop) const {
  int64_t now = clocks_.now();
  while (now < when_ns && !stop.load(std::memory_order_relaxed)) {
    __builtin_ia32_pause();
    now = clocks_.now();
  }
  return now;
}

int64_t Waiter::wait_until(int64_t when_ns, const std::atomic<bool>& stop) const {
  for (int64_t now = clocks_.now(); when_ns - now > spin_ns_; now = clocks_.now()) {
    if (stop.load(std::memory_order_relaxed)) return now;
    sleep_until(std::min(when_ns - spin_ns_, now + kLongestSleep));
  }
  return spin_until(when_ns, stop);
}

// A thread that spins and yet ends later than the clocks explain was preempted. Within a
// computation only the clock of processor time shows that; reading it takes too long for short
// computations.
Waiter::Computed Waiter::compute(int64_t begin_ns, int64_t when_ns,
                                 const std::atomic<bool>& stop) const {
  int64_t lost = 0;
  auto spin = [&](int64_t until_ns) {
    const bool is_early = clocks_.now() < until_ns;
    const int64_t now = spin_until(until_ns, stop);
    if (is_early && now - until_ns > kLeastLost) lost += now - until_ns;
    return now;
  };
  int64_t now = spin(begin_ns);
  if (when_ns + lost - now < kShortComputation) {
    now = spin(when_ns + lost);
    return {now, lost};
  }
  // In this order, because the thread may be preempted at the end of a system call.
  const int64_t begin = clocks_.now();
  const int64_t had_before = clocks_.processor();
  const int64_t lost_before = lost;
  while (!stop.load(std::memory_order_relaxed)) {
    spin_until(when_ns + lost, stop);
    const int64_t had = clocks_.processor() - had_before;
    now = clocks_.now();
    const int64_t lost_by_now = lost_before + now - begin - had;
    if (lost_by_now - lost <= kLeastLost) break;
    lost = lost_by_now;
  }
  return {now, lost};
}

}  // namespace sesame::replay
