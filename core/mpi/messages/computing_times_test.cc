// Times at which a rank computes, with one thread and with several.
#include "core/mpi/messages/computing_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sesame::mpi {
namespace {

SimTime at(int64_t ns) { return SimTime::from_ns(ns); }

TEST(ComputingTimes, AreFromTheirBeginToBeforeTheirEnd) {
  ComputingTimes times;
  times.add(at(10), at(20));
  times.add(at(20), at(30));
  times.add(at(40), at(40));
  times.add(at(50), at(60));
  EXPECT_FALSE(times.covers(at(9)));
  EXPECT_TRUE(times.covers(at(10)));
  EXPECT_TRUE(times.covers(at(29)));
  EXPECT_FALSE(times.covers(at(30)));
  EXPECT_FALSE(times.covers(at(40)));
  EXPECT_TRUE(times.covers(at(50)));
  EXPECT_FALSE(times.covers(at(60)));
}

TEST(ComputingTimes, AreAddedBetweenEvents) {
  ComputingTimes times;
  for (int64_t now = 0; now < 1000; now += 10) {
    times.add(at(now), at(now + 5));
    EXPECT_TRUE(times.covers(at(now + 4)));
    EXPECT_FALSE(times.covers(at(now + 5)));
  }
}

TEST(ComputingTimes, OfSeveralThreadsOverlap) {
  std::mt19937 random(1);
  ComputingTimes times;
  std::vector<std::pair<int64_t, int64_t>> all;
  int64_t clocks[3] = {};
  for (int i = 0; i < 300; ++i) {
    int64_t& clock = clocks[random() % 3];
    const int64_t begin = clock + random() % 30;
    clock = begin + random() % 40;
    all.emplace_back(begin, clock);
    times.add(at(begin), at(clock));
  }
  for (int64_t now = 0; now < 3000; now += 3) {
    const bool expected = std::ranges::any_of(
        all, [&](const auto& one) { return one.first <= now && now < one.second; });
    EXPECT_EQ(times.covers(at(now)), expected) << now;
  }
}

}  // namespace
}  // namespace sesame::mpi
