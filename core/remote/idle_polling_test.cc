#include "core/remote/idle_polling.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
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

// How many threads of this process have the policy SCHED_IDLE, by their state (proc(5)).
std::map<char, int> idle_threads() {
  std::map<char, int> states;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string field, state;
    constexpr int kState = 3, kPolicy = 41;
    for (int i = kState; i <= kPolicy && fields >> field; ++i)
      if (i == kState) state = field;
    if (field == std::to_string(SCHED_IDLE)) ++states[state[0]];
  }
  return states;
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
  const cpu_set_t processors = own_processors();
  EXPECT_EQ(idle_threads()['R'], CPU_COUNT(&processors));
  compute(polling, 0.1);
  EXPECT_FALSE(polling.is_on());
  // Beside other load they run seldom.
  for (int i = 0; i < 60'000 && idle_threads()['S'] < CPU_COUNT(&processors); ++i)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(idle_threads()['S'], CPU_COUNT(&processors));
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

TEST(IdlePolling, IsNotForProcessesWithAQuota) {
  const std::filesystem::path groups = std::filesystem::path(testing::TempDir()) / "groups";
  std::filesystem::create_directories(groups / "outer/inner");
  EXPECT_FALSE(has_quota(groups, "/outer/inner"));
  std::ofstream(groups / "outer/inner/cpu.max") << "max 100000\n";
  EXPECT_FALSE(has_quota(groups, "/outer/inner"));
  std::ofstream(groups / "outer/cpu.max") << "150000 100000\n";
  EXPECT_TRUE(has_quota(groups, "/outer/inner"));
  EXPECT_FALSE(has_quota(groups, "/"));
  std::filesystem::remove_all(groups);
}

}  // namespace
}  // namespace sesame::remote
