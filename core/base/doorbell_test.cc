// No wake-up is lost: an owner that sleeps for ever would end these tests by their time limit.
#include "core/base/doorbell.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

namespace sesame {
namespace {

constexpr int64_t kLongNs = 20'000'000'000;  // far more than a wake-up takes on a busy machine

// Up to some microseconds.
void pause_at_random(std::mt19937_64& random) {
  for (uint64_t left = random() % 64; left > 0; --left) __builtin_ia32_pause();
}

// Waits for the value. Between its looks and what follows them, the other thread does something.
bool await(Doorbell& bell, const std::atomic<int>& word, int value, std::mt19937_64& random) {
  const auto is_there = [&] {
    const bool is = word == value;
    pause_at_random(random);
    return is;
  };
  return sleep_until(bell, is_there, kLongNs);
}

TEST(Doorbell, WakesItsOwnerWheneverItIsRung) {
  constexpr int kTimes = 20'000;
  Doorbell bell{}, other{};
  std::atomic<int> asked = 0, answered = 0;
  std::thread answers([&] {
    std::mt19937_64 random(1);
    for (int i = 1; i <= kTimes; ++i) {
      if (!await(other, asked, i, random)) return;
      pause_at_random(random);
      answered = i;
      ring_if_asleep(bell);
    }
  });
  std::mt19937_64 random(2);
  for (int i = 1; i <= kTimes; ++i) {
    asked = i;
    ring_if_asleep(other);
    pause_at_random(random);
    ASSERT_TRUE(await(bell, answered, i, random)) << i;
  }
  answers.join();
  EXPECT_GT(bell.rings, 0U) << "the owner never slept";
}

TEST(Doorbell, AnOwnerThatDoesNotSleepIsNotRung) {
  Doorbell bell{};
  ring_if_asleep(bell);
  EXPECT_EQ(bell.rings, 0U);
  EXPECT_TRUE(sleep_until(bell, [] { return true; }));
  ring_if_asleep(bell);
  EXPECT_EQ(bell.rings, 0U);
}

// Sleeps for something that does not come; returns for how long.
std::chrono::nanoseconds sleep_unanswered(Doorbell& bell, int64_t longest_ns) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(sleep_until(
      bell, [] { return false; }, longest_ns));
  return std::chrono::steady_clock::now() - begin;
}

TEST(Doorbell, WaitsAsLongAsAsked) {
  Doorbell bell{};
  errno = 7;
  EXPECT_GE(sleep_unanswered(bell, 1'000'000), std::chrono::milliseconds(1));
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(bell.owner_sleeps, 0U);
}

TEST(Doorbell, DoesNotWaitForATimeThatHasPassed) {
  Doorbell bell{};
  EXPECT_LT(sleep_unanswered(bell, 0), std::chrono::seconds(1));
}

// Those that ring for something else do not make it wait longer.
TEST(Doorbell, WaitsNoLongerIfItIsRungMeanwhile) {
  Doorbell bell{};
  std::atomic<bool> is_over = false;
  std::thread rings([&] {
    for (int i = 0; i < 300 && !is_over; ++i) {
      ring(bell);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const auto slept = sleep_unanswered(bell, 50'000'000);
  is_over = true;
  rings.join();
  EXPECT_GE(slept, std::chrono::milliseconds(50));
  EXPECT_LT(slept, std::chrono::seconds(2));
}

}  // namespace
}  // namespace sesame
