#include "core/replay/clock.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sesame::replay {
namespace {

TEST(Waiter, NeverReturnsEarly) {
  const Waiter waiter = Waiter::measured(false);
  const std::atomic<bool> stop = false;
  for (int64_t wait : {0, 100, 10'000, 150'000, 3'000'000}) {
    const int64_t when = now_ns() + wait;
    EXPECT_GE(waiter.wait_until(when, false, stop), when);
    EXPECT_GE(waiter.wait_until(when, true, stop), when);
  }
}

TEST(Waiter, EndsALongWaitWhenItIsToldToStop) {
  const Waiter waiter = Waiter::measured(true);
  const std::atomic<bool> stop = true;
  const int64_t begin = now_ns();
  waiter.wait_until(begin + 60'000'000'000, false, stop);
  waiter.wait_until(begin + 60'000'000'000, true, stop);
  EXPECT_LT(now_ns() - begin, 1'000'000'000);
}

TEST(Waiter, SpinsLongerOnlyWithAProcessorForEachThread) {
  const Waiter alone = Waiter::measured(true);
  const Waiter crowded = Waiter::measured(false);
  EXPECT_GE(alone.wake_up().p99_ns, alone.wake_up().median_ns);
  EXPECT_EQ(alone.spin_ns(), std::clamp<int64_t>(alone.wake_up().p99_ns * 3 / 2, 2'000, 200'000));
  EXPECT_EQ(crowded.spin_ns(), std::clamp<int64_t>(crowded.wake_up().median_ns, 2'000, 200'000));
}

}  // namespace
}  // namespace sesame::replay
