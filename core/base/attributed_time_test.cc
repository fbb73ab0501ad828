#include "core/base/attributed_time.h"

#include <gtest/gtest.h>

#include <random>

namespace sesame {
namespace {

const Parameter kLatency = Parameter::of("latency");
const Parameter kBandwidth = Parameter::of("bandwidth");

SimTime latency(int64_t ps) { return SimTime::from_ps(ps).due_to(kLatency); }
SimTime transfer(int64_t ps) { return SimTime::from_ps(ps).due_to(kBandwidth); }

double share(const SimTime& time, Parameter parameter) {
  if (time.shared() == nullptr) {
    return time.parameter() == parameter.number() ? static_cast<double>(time.ps()) : 0;
  }
  return time.shared()->share_of(parameter).ps;
}

double sum_of_shares(const SimTime& time) {
  if (time.shared() == nullptr) return static_cast<double>(time.ps());
  double sum = 0;
  for (size_t i = 0; i < Parameter::names().size(); ++i)
    sum += time.shared()->share_of(Parameter(static_cast<uint8_t>(i))).ps;
  return sum;
}

double highest_factor(const SimTime& time, Parameter parameter) {
  return 1 + 1 / static_cast<double>(time.shared()->share_of(parameter).rise);
}
double lowest_factor(const SimTime& time, Parameter parameter) {
  return 1 + 1 / static_cast<double>(time.shared()->share_of(parameter).fall);
}

TEST(AttributedTime, ASumHasTheDerivativesOfBoth) {
  const SimTime sum = latency(5) + transfer(7) + latency(1) + SimTime::from_ps(2);
  EXPECT_EQ(sum.ps(), 15);
  EXPECT_EQ(share(sum, kLatency), 6);
  EXPECT_EQ(share(sum, kBandwidth), 7);
  EXPECT_EQ(share(sum, Parameter()), 2);
}

TEST(AttributedTime, ADurationOfOneParameterNeedsNoMemory) {
  EXPECT_EQ((latency(5) + latency(6)).shared(), nullptr);
  EXPECT_EQ((latency(5) * 3).shared(), nullptr);
  EXPECT_EQ((SimTime::zero() + latency(5)).parameter(), kLatency.number());
}

TEST(AttributedTime, CopiesAreIndependent) {
  SimTime clock = latency(5) + transfer(7);
  const SimTime before = clock;
  clock += latency(100);
  EXPECT_EQ(share(before, kLatency), 5);
  EXPECT_EQ(share(clock, kLatency), 105);
  clock -= latency(100);
  EXPECT_EQ(share(clock, kLatency), 5);
  clock += clock;
  EXPECT_EQ(share(clock, kBandwidth), 14);
}

TEST(AttributedTime, AMaximumHasTheDerivativesOfTheLaterOperand) {
  const SimTime a = latency(5) + transfer(7);
  const SimTime b = latency(9) + transfer(2);
  EXPECT_EQ(share(later(a, b), kLatency), 5);
  EXPECT_EQ(share(later(b, a), kLatency), 5);
}

TEST(AttributedTime, OfEqualTimesTheOrderOfTheOperandsDoesNotMatter) {
  const SimTime a = latency(5) + transfer(7);
  const SimTime b = latency(7) + transfer(5);
  EXPECT_EQ(share(later(a, b), kLatency), share(later(b, a), kLatency));
  SimTime c = a, d = a;
  c.pass({.rank = 1});
  d.pass({.rank = 2});
  EXPECT_EQ(later(c, d).shared()->last_step()->rank, later(d, c).shared()->last_step()->rank);
}

TEST(AttributedTime, TheSharesOfRandomExpressionsAddUpToTheTime) {
  std::mt19937 random(1);
  std::vector<SimTime> clocks(10);
  for (int i = 0; i < 10000; ++i) {
    SimTime& clock = clocks[random() % 10];
    const SimTime& other = clocks[random() % 10];
    const auto ps = static_cast<int64_t>(random() % 1000);
    switch (random() % 4) {
      case 0:
        clock += latency(ps);
        break;
      case 1:
        clock += (transfer(ps) + latency(ps)) / 3;
        break;
      case 2:
        clock = later(clock, other);
        break;
      case 3:
        clock = later(other + transfer(ps) * 2, clock);
        break;
    }
  }
  for (const SimTime& clock : clocks) {
    EXPECT_GT(clock.ps(), 0);
    EXPECT_NEAR(sum_of_shares(clock), static_cast<double>(clock.ps()), 1e-3);
  }
}

TEST(AttributedTime, TheRangeEndsWhereAnotherPathBecomesTheLongest) {
  // 1000 latency + 1000 transfer against 1800 transfer: equal where the latency is 0.8 times, or
  // the time of transfers 1.25 times as long.
  const SimTime winner = later(latency(1'000'000) + transfer(1'000'000), transfer(1'800'000));
  EXPECT_EQ(share(winner, kLatency), 1'000'000);
  EXPECT_NEAR(lowest_factor(winner, kLatency), 0.8, 1e-3);
  EXPECT_EQ(winner.shared()->share_of(kLatency).rise, 0) << "a higher latency keeps the path";
  EXPECT_NEAR(highest_factor(winner, kBandwidth), 1.25, 1e-3);
  EXPECT_EQ(winner.shared()->share_of(kBandwidth).fall, 0);
}

TEST(AttributedTime, TheNearestRivalLimitsTheRange) {
  SimTime clock = latency(1'000'000) + transfer(1'000'000);
  clock = later(clock, transfer(1'500'000));
  clock = later(clock, transfer(1'900'000));
  clock = later(clock, transfer(1'600'000));
  EXPECT_NEAR(lowest_factor(clock, kLatency), 0.9, 1e-3);
}

std::vector<std::pair<uint32_t, int64_t>> steps_of(const SimTime& time) {
  std::vector<std::pair<uint32_t, int64_t>> steps;
  for (const PathStep* step = time.shared()->last_step(); step != nullptr; step = step->previous)
    steps.insert(steps.begin(), {step->rank, step->until_ps});
  return steps;
}

TEST(AttributedTime, APathGoesFromRankToRankWithTheLaterTime) {
  SimTime sender = SimTime::from_ps(100);
  SimTime message = sender;
  message.depart({.rank = 0, .kind = PathKind::kCall});
  message += latency(50);
  SimTime receiver = SimTime::from_ps(20);
  receiver.pass({.rank = 1});
  receiver = later(receiver, message);
  receiver.arrive({.rank = 1, .kind = PathKind::kMessage});
  receiver += SimTime::from_ps(10);
  receiver.pass({.rank = 1});
  const std::vector<std::pair<uint32_t, int64_t>> expected{{0, 100}, {1, 150}, {1, 160}};
  EXPECT_EQ(steps_of(receiver), expected);
}

TEST(AttributedTime, ALongPathIsASampleInProportionToTheTime) {
  Attribution::keep_steps(1024);
  SimTime clock;
  std::mt19937 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const bool is_long = random() % 4 == 0;
    clock += SimTime::from_ps(is_long ? 900 : 100);
    clock.pass({.rank = is_long ? 1u : 0u});
  }
  clock.pass({.rank = 1});
  const auto steps = steps_of(clock);
  EXPECT_LT(steps.size(), 1024u + 256 * 10);
  int64_t time_of_long = 0;
  for (size_t i = 1; i < steps.size(); ++i)
    if (steps[i].first == 1) time_of_long += steps[i].second - steps[i - 1].second;
  EXPECT_NEAR(static_cast<double>(time_of_long) / static_cast<double>(clock.ps()), 0.75, 0.05);
}

}  // namespace
}  // namespace sesame
