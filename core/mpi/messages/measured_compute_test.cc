#include "core/mpi/messages/measured_compute.h"

#include <gtest/gtest.h>

namespace sesame::mpi {
namespace {

const char sites[4] = {};

SimTime ps(int64_t value) { return SimTime::from_ps(value); }

TEST(MeasuredCompute, SamplesAreComparedWithTheOneBeforeOfTheirRegion) {
  MeasuredCompute measured(false, true, SimTime::zero());
  // Regions in turn: to 0 (from nowhere, once), 0 to 1, 1 to 0. The first sample of each is cold.
  int turn = 0;
  for (int64_t time : {900, 500, 70, 50, 100, 50, 140, 50, 120}) {
    measured.add(&sites[turn++ % 2], ps(time), false);
  }
  const ComputeSpread spread = measured.spread();
  EXPECT_EQ(spread.samples, 9u);
  EXPECT_EQ(spread.regions, 3u);
  EXPECT_EQ(spread.total_ps, 900 + 500 + 70 + 50 + 100 + 50 + 140 + 50 + 120);
  // 0 to 1: 500 cold, then 50, 50, 50. 1 to 0: 70 cold, then 100, 140, 120.
  EXPECT_EQ(spread.repeated_ps, 150 + 360);
  EXPECT_EQ(spread.fastest_ps, 150 + 300);
  EXPECT_EQ(spread.difference_ps, (40 + 20) / 2 * 3);
}

TEST(MeasuredCompute, EqualSamplesDoNotDiffer) {
  MeasuredCompute measured(false, true, SimTime::zero());
  for (int i = 0; i < 100; ++i) measured.add(&sites[0], ps(1000), false);
  EXPECT_EQ(measured.spread().difference_ps, 0);
  EXPECT_EQ(measured.spread().fastest_ps, measured.spread().repeated_ps);
}

TEST(MeasuredCompute, SamplesNearTheClocksResolutionAreCounted) {
  MeasuredCompute measured(false, true, ps(100));
  for (int64_t time : {100, 101, 60}) measured.add(&sites[0], ps(time), false);
  EXPECT_EQ(measured.spread().short_ps, 160);
}

TEST(MeasuredCompute, TimesAreKeptInTheFormOfRecordedCompute) {
  MeasuredCompute measured(true, false, SimTime::zero());
  measured.add(&sites[0], ps(10), false);
  measured.add(&sites[1], ps(3), true);
  EXPECT_EQ(measured.times_ps(), (std::vector<int64_t>{10, ~3}));
  EXPECT_EQ(measured.spread().samples, 0u);
}

}  // namespace
}  // namespace sesame::mpi
