#include "core/mpi/messages/compute_meter.h"

#include <gtest/gtest.h>

namespace sesame::mpi {
namespace {

// A call after 10 ps, polls after 3 and 0 ps, a call after 20 ps, and 30 ps to the end.
RecordedCompute recorded() { return {{10, ~3, ~0, 20}, 30}; }

TEST(RecordedCompute, TheSameCallsTakeTheSameTimesAgain) {
  RecordedCompute times = recorded();
  EXPECT_EQ(times.take(ComputeEnd::kCall).ps(), 10);
  EXPECT_EQ(times.take(ComputeEnd::kPoll).ps(), 3);
  EXPECT_EQ(times.take(ComputeEnd::kClock).ps(), 0);
  EXPECT_EQ(times.take(ComputeEnd::kPoll).ps(), 0);
  EXPECT_EQ(times.take(ComputeEnd::kCall).ps(), 20);
  EXPECT_EQ(times.take(ComputeEnd::kExit).ps(), 30);
}

TEST(RecordedCompute, FewerPollsSkipTheirTimes) {
  RecordedCompute times = recorded();
  times.take(ComputeEnd::kCall);
  times.take(ComputeEnd::kPoll);
  EXPECT_EQ(times.take(ComputeEnd::kCall).ps(), 20);
}

TEST(RecordedCompute, MorePollsThanRecordedTakeNoTime) {
  RecordedCompute times = recorded();
  EXPECT_EQ(times.take(ComputeEnd::kPoll).ps(), 0);
  EXPECT_EQ(times.take(ComputeEnd::kCall).ps(), 10);
}

TEST(RecordedCompute, CallsBeyondTheRecordTakeNoTime) {
  RecordedCompute times = recorded();
  for (int i = 0; i < 2; ++i) times.take(ComputeEnd::kCall);
  EXPECT_EQ(times.take(ComputeEnd::kCall).ps(), 0);
}

TEST(ComputeMeter, ReadingTheClockTakesTime) {
  ComputeMeter meter;
  EXPECT_EQ(meter.reading(), SimTime::zero());
  meter.configure({});
  EXPECT_GT(meter.reading(), SimTime::zero());
  EXPECT_LT(meter.reading(), SimTime::from_ns(100'000));
}

TEST(ComputeMeter, CalibratesItsClockOnlyToMeasure) {
  ComputeMeter meter;
  for (const ComputeMode mode : {ComputeMode::kNone, ComputeMode::kFixed, ComputeMode::kRecorded}) {
    meter.configure({.mode = mode, .fixed = SimTime::zero()});
    EXPECT_EQ(meter.reading(), SimTime::zero());
  }
  meter.configure({});
  EXPECT_GT(meter.reading(), SimTime::zero());
}

}  // namespace
}  // namespace sesame::mpi
