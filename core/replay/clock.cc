#include "core/replay/clock.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace sesame::replay {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLongestSleep = 100'000'000;  // then `stop` is looked at
constexpr int64_t kMostSpin = 200'000;          // a longer one would be a busy machine's
constexpr int64_t kLeastSpin = 2'000;

void sleep_until(int64_t when_ns) {
  const timespec when{when_ns / kSecond, when_ns % kSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

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
      processor_for_each_thread ? waiter.wake_up_.p99_ns * 3 / 2 : waiter.wake_up_.median_ns;
  waiter.spin_ns_ = std::clamp(covered, kLeastSpin, kMostSpin);
  return waiter;
}

int64_t Waiter::wait_until(int64_t when_ns, bool keeps_processor,
                           const std::atomic<bool>& stop) const {
  int64_t now = now_ns();
  while (!keeps_processor && when_ns - now > spin_ns_) {
    if (stop.load(std::memory_order_relaxed)) return now;
    sleep_until(std::min(when_ns - spin_ns_, now + kLongestSleep));
    now = now_ns();
  }
  while (now < when_ns && !stop.load(std::memory_order_relaxed)) {
    __builtin_ia32_pause();
    now = now_ns();
  }
  return now;
}

}  // namespace sesame::replay
