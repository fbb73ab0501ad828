#include "core/base/yielding.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace sesame {
namespace {

TEST(Yielding, IsSensibleAtFirst) {
  Yielding yielding;
  EXPECT_TRUE(yielding.is_sensible());
  EXPECT_TRUE(yielding.is_sensible());
}

TEST(Yielding, IsLeftOutForSomeWaitsWhereAnotherThreadComputes) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> ends = false;
  std::thread other([&] {  // on the same processor
    while (!ends) {
    }
  });
  Yielding yielding;
  EXPECT_TRUE(yielding.is_sensible());
  while (yielding.yield()) {
  }
  int without = 0;
  while (!yielding.is_sensible()) ++without;
  ends = true;
  other.join();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GT(without, 10);
}

}  // namespace
}  // namespace sesame
