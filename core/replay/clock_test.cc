#include "core/replay/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace sesame::replay {
namespace {

TEST(Waiter, NeverReturnsEarly) {
  const Waiter waiter = Waiter::measured(false);
  const std::atomic<bool> stop = false;
  for (int64_t wait : {0, 100, 10'000, 150'000, 3'000'000}) {
    const int64_t when = now_ns() + wait;
    EXPECT_GE(waiter.wait_until(when, stop), when);
    EXPECT_GE(waiter.compute(when - wait / 2, when + wait, stop).now_ns, when + wait);
  }
}

TEST(Waiter, EndsALongWaitWhenItIsStopped) {
  const Waiter waiter = Waiter::measured(true);
  const std::atomic<bool> stop = true;
  const int64_t begin = now_ns();
  waiter.wait_until(begin + 60'000'000'000, stop);
  waiter.compute(begin, begin + 60'000'000'000, stop);
  EXPECT_LT(now_ns() - begin, 1'000'000'000);
}

TEST(Waiter, SpinsLongerOnlyWithAProcessorForEachThread) {
  const Waiter alone = Waiter::measured(true);
  const Waiter crowded = Waiter::measured(false);
  EXPECT_GE(alone.wake_up().latest_ns, alone.wake_up().median_ns);
  EXPECT_EQ(alone.spin_ns(),
            std::clamp<int64_t>(alone.wake_up().latest_ns * 3 / 2, 2'000, 200'000));
  EXPECT_EQ(crowded.spin_ns(), std::clamp<int64_t>(crowded.wake_up().median_ns, 2'000, 200'000));
}

// A machine on which each reading of the clock takes 100 ns, and where another thread has the
// processor for `taken_for` ns from `taken_from` on.
struct Machine {
  int64_t now = 0;
  int64_t taken_from = INT64_MAX;
  int64_t taken_for = 0;
  int64_t lost = 0;

  int64_t tick() {
    now += 100;
    if (now < taken_from) return now;
    taken_from = INT64_MAX;
    lost += taken_for;
    return now += taken_for;
  }
};
thread_local Machine machine;

const Clocks kMachine{[] { return machine.tick(); }, [] { return machine.tick() - machine.lost; }};

Waiter::Computed compute(int64_t begin_ns, int64_t when_ns, int64_t taken_from, int64_t taken_for) {
  machine = {0, taken_from, taken_for, 0};
  const std::atomic<bool> stop = false;
  return Waiter(kMachine).compute(begin_ns, when_ns, stop);
}

constexpr int64_t kClocksTake = 1'000;

TEST(Waiter, AComputationThatHasItsProcessorEndsWhenItIsDue) {
  const auto [now, lost] = compute(0, 400'000, INT64_MAX, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_NEAR(now, 400'000, kClocksTake);
}

TEST(Waiter, AComputationIsExtendedByTheTimeInWhichOthersHadTheProcessor) {
  for (int64_t taken_from : {1'000, 100'000, 399'000}) {
    const auto [now, lost] = compute(0, 400'000, taken_from, 3'000'000);
    EXPECT_NEAR(lost, 3'000'000, kClocksTake) << taken_from;
    EXPECT_NEAR(now, 3'400'000, kClocksTake) << taken_from;
  }
}

TEST(Waiter, APreemptionBeforeAComputationDelaysItOnlyByThePartAfterItsBegin) {
  // 500 us of waiting, then 400 us of computation.
  const auto within = compute(500'000, 900'000, 100'000, 300'000);
  EXPECT_EQ(within.lost_ns, 0);
  EXPECT_NEAR(within.now_ns, 900'000, kClocksTake);
  const auto across = compute(500'000, 900'000, 400'000, 300'000);
  EXPECT_NEAR(across.lost_ns, 200'000, kClocksTake);
  EXPECT_NEAR(across.now_ns, 1'100'000, kClocksTake);
}

TEST(Waiter, AShortComputationIsLateWhenOthersHadTheProcessorAtItsEnd) {
  const auto [now, lost] = compute(0, 20'000, 10'000, 3'000'000);
  EXPECT_NEAR(now, 3'010'000, kClocksTake);
  EXPECT_NEAR(lost, 2'990'000, kClocksTake);
}

TEST(Waiter, WhatTheClocksThemselvesTakeIsNotLost) {
  const auto [now, lost] = compute(0, 400'000, 200'000, kLeastLost - kClocksTake);
  EXPECT_EQ(lost, 0);
  EXPECT_NEAR(now, 400'000, kClocksTake);
}

}  // namespace
}  // namespace sesame::replay
