#include "core/remote/idle_polling.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <thread>

namespace sesame::remote {
namespace {

using std::chrono::milliseconds;

cpu_set_t own_processors() {
  cpu_set_t processors;
  EXPECT_EQ(sched_getaffinity(0, sizeof processors, &processors), 0);
  return processors;
}

// Notes computation that takes this share of all processors' time, for 100 ms.
void compute(IdlePolling& polling, double share) {
  const cpu_set_t processors = own_processors();
  const double all = share * CPU_COUNT(&processors);
  auto last = std::chrono::steady_clock::now();
  for (const auto end = last + milliseconds(100); last < end;) {
    std::this_thread::sleep_for(milliseconds(1));
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::pico> passed = now - last;
    polling.note_computation(static_cast<int64_t>(passed.count() * all));
    last = now;
  }
}

// Of all threads of this process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(IdlePolling, IsOnlyOnWhileRanksComputeMuch) {
  IdlePolling polling(own_processors());
  EXPECT_FALSE(polling.is_on());
  compute(polling, 0.1);
  EXPECT_FALSE(polling.is_on());
  compute(polling, 0.8);
  EXPECT_TRUE(polling.is_on());
  compute(polling, 0.1);
  EXPECT_FALSE(polling.is_on());
}

TEST(IdlePolling, EndsWhenRanksMakeNoCalls) {
  IdlePolling polling(own_processors());
  compute(polling, 0.8);
  EXPECT_TRUE(polling.is_on());
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(polling.is_on());
  const double before = processor_seconds();
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(processor_seconds() - before, 0.1);  // no thread looks at its clock
}

}  // namespace
}  // namespace sesame::remote
