#include "core/base/yielding.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "core/base/testing/busy_processor.h"

namespace sesame {
namespace {

constexpr int kMostYields = 100'000;

// How many yields there were until one was long, or kMostYields.
int yields_until_long(Yielding& yielding) {
  int yields = 1;
  while (yielding.yield() && yields < kMostYields) ++yields;
  return yields;
}

// A thread with real-time priority does not give its processor to ordinary ones.
TEST(Yielding, ContinuesWhereNothingElseUsesTheProcessor) {
  const sched_param first{1}, ordinary{0};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) GTEST_SKIP() << "needs CAP_SYS_NICE";
  Yielding yielding;
  EXPECT_TRUE(yielding.begin_wait());
  const int yields = yields_until_long(yielding);
  sched_setscheduler(0, SCHED_OTHER, &ordinary);
  EXPECT_GT(yields, 10);
}

TEST(Yielding, IsLeftOutForSomeWaitsWhereAnotherThreadComputes) {
  const BusyProcessor busy;
  Yielding yielding;
  EXPECT_TRUE(yielding.begin_wait());
  EXPECT_LT(yields_until_long(yielding), kMostYields);
  for (int i = 0; i < Yielding::kWaitsWithout; ++i) EXPECT_FALSE(yielding.begin_wait());
  EXPECT_TRUE(yielding.begin_wait());
}

}  // namespace
}  // namespace sesame
