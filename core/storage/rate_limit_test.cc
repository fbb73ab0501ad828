#include "core/storage/rate_limit.h"

#include <gtest/gtest.h>

#include "core/storage/make_device.h"

namespace sesame::storage {
namespace {

constexpr double kRate = 1e6;  // a byte each microsecond
constexpr uint64_t kBurst = 5000;

SimTime us(int64_t microseconds) { return SimTime::from_ns(1000 * microseconds); }

TEST(TokenBucket, BytesBeyondTheBurstAreLimitedByTheRate) {
  TokenBucket bucket(kRate, kBurst, SimTime());
  EXPECT_EQ(bucket.admit(us(10), 3000), us(10));
  EXPECT_EQ(bucket.admit(us(10), 3000), us(1010));
  EXPECT_EQ(bucket.admit(us(20), 500), us(1510));  // after the previous request
}

TEST(TokenBucket, APauseAccumulatesNoMoreThanTheBurst) {
  TokenBucket bucket(kRate, kBurst, SimTime());
  bucket.admit(us(0), 5000);
  EXPECT_EQ(bucket.admit(us(2000), 2000), us(2000));
  EXPECT_EQ(bucket.admit(us(100'000), 5001), us(100'001));
}

TEST(TokenBucket, WithoutABurstEachByteTakesItsTime) {
  TokenBucket bucket(kRate, 0, SimTime());
  EXPECT_EQ(bucket.admit(us(7), 300), us(307));
  EXPECT_EQ(bucket.admit(us(5000), 300), us(5300));
}

// As Linux limits block devices: the tokens of a period are added at its start and lost at its end.
TEST(TokenBucket, APeriodsTokensAreAvailableFromItsStart) {
  TokenBucket bucket(kRate, 0, us(1000));
  EXPECT_EQ(bucket.admit(us(500), 600), us(500));  // the first period begins here
  EXPECT_EQ(bucket.admit(us(600), 600), us(1500));
  EXPECT_EQ(bucket.admit(us(1600), 800), us(1600));
  EXPECT_EQ(bucket.admit(us(1600), 2001), us(4500));
}

TEST(TokenBucket, UnusedTokensOfAPeriodAreLost) {
  TokenBucket bucket(kRate, 0, us(1000));
  bucket.admit(us(0), 1000);
  EXPECT_EQ(bucket.admit(us(10'000), 1000), us(10'000));
  EXPECT_EQ(bucket.admit(us(10'500), 1), us(11'000));
}

struct RecordedCompletion : Completion {
  void done(SimTime when) override { at = when; }
  SimTime at;
};

// The medium takes 1 ns a byte, the limit of writes 1 us beyond the first 5000.
TEST(LimitedDevice, CompletesWhenTheDeviceIsDoneAndTheLimitAdmits) {
  machine::DeviceParameters parameters;
  parameters.read_bandwidth = parameters.write_bandwidth = 1e9;
  parameters.write_limit = kRate;
  parameters.write_burst = kBurst;
  pdes::EventQueue events;
  const auto device = make_device(parameters, events, 0);
  RecordedCompletion first, second, read;
  device->submit(us(0), {Direction::kWrite, 0, 4000, &first});
  device->submit(us(0), {Direction::kWrite, 4000, 4000, &second});
  device->submit(us(0), {Direction::kRead, 0, 100'000, &read});
  while (!events.empty()) events.take_earliest().fire();
  EXPECT_EQ(first.at, us(4));
  EXPECT_EQ(second.at, us(3000));
  EXPECT_EQ(read.at, us(108));  // reads have no limit
  EXPECT_EQ(device->statistics().busy, us(108));
}

}  // namespace
}  // namespace sesame::storage
