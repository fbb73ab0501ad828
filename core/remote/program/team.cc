#include "core/remote/program/team.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/time_stamp.h"

namespace sesame::remote {
namespace {

constexpr uint64_t kTicksBetweenLooks = 150'000;  // of the time-stamp counter: some 50 us

struct Thread {
  clockid_t clock;
  int64_t seen_ns;        // of its processor time, at the last look
  int64_t ended_ns = -1;  // its processor time, if it has ended
};

struct Team {
  std::mutex mutex;
  std::vector<std::unique_ptr<Thread>> threads;  // but the main one
  std::atomic<bool> has_threads = false;
  int cores = 1;
  SimTime own;  // of the main thread since the last look
  uint64_t looked_at = 0;
};

// Threads may outlive static objects.
Team& team() {
  static auto* const instance = new Team;
  return *instance;
}

thread_local Thread* member = nullptr;  // of the team; its Membership lives

// Records a thread while it lives.
struct Membership {
  Membership() {
    auto made = std::make_unique<Thread>(Thread{clock_of_this_thread(), 0});
    member = made.get();
    const std::lock_guard lock(team().mutex);
    team().threads.push_back(std::move(made));
    team().has_threads = true;
  }
  ~Membership() {
    const std::lock_guard lock(team().mutex);
    if (member != nullptr) member->ended_ns = processor_ns(CLOCK_THREAD_CPUTIME_ID);
    member = nullptr;
  }
};

// The processor time of a thread since the last look.
int64_t take_ns(Thread& thread) {
  const int64_t now_ns = thread.ended_ns >= 0 ? thread.ended_ns : processor_ns(thread.clock);
  return now_ns - std::exchange(thread.seen_ns, now_ns);
}

}  // namespace

// The C library's clock_gettime() shows simulated time here.
int64_t processor_ns(clockid_t clock) {
  timespec time{};
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// As pthread_getcpuclockid() makes it.
clockid_t clock_of_this_thread() {
  return static_cast<clockid_t>(~static_cast<unsigned>(syscall(SYS_gettid)) << 3 | 6);
}

void start_team(int cores) {
  const std::lock_guard lock(team().mutex);
  team().cores = std::max(cores, 1);
  for (auto& thread : team().threads) take_ns(*thread);
}

void join_team() {
  thread_local const Membership membership;
  (void)membership;
}

SimTime leave_team() {
  const std::lock_guard lock(team().mutex);
  if (member == nullptr) return SimTime::zero();
  const SimTime uncounted = SimTime::from_ns(take_ns(*member));
  std::erase_if(team().threads, [](const auto& thread) { return thread.get() == member; });
  team().has_threads = !team().threads.empty();
  member = nullptr;
  return uncounted;
}

bool has_team() { return team().has_threads.load(std::memory_order_relaxed); }

SimTime team_time(SimTime own) {
  Team& all = team();
  if (!all.has_threads.load(std::memory_order_relaxed)) return own;
  all.own += own;
  const uint64_t now = read_time_stamp();
  if (now - all.looked_at < kTicksBetweenLooks) return own;
  all.looked_at = now;
  const SimTime charged = std::exchange(all.own, SimTime::zero()) - own;
  const std::lock_guard lock(all.mutex);
  SimTime longest = charged + own, sum = longest;
  for (auto& thread : all.threads) {
    const SimTime computed = SimTime::from_ns(take_ns(*thread));
    longest = std::max(longest, computed);
    sum += computed;
  }
  std::erase_if(all.threads, [](const auto& thread) { return thread->ended_ns >= 0; });
  all.has_threads = !all.threads.empty();
  const SimTime shared = SimTime::from_ps(sum.ps() / all.cores);
  return std::max(longest, shared) - charged;
}

}  // namespace sesame::remote
