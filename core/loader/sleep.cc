// Sleeping advances the rank's simulated time and costs no wall time.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"
#include "core/loader/waiting.h"

namespace sesame::loader {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

bool is_valid(const timespec& duration) {
  return duration.tv_sec >= 0 && duration.tv_nsec >= 0 && duration.tv_nsec < kNsPerSecond;
}

// Simulated time ends after 106 days, so longer sleeps are shortened to 50 days.
void sleep_ns(int64_t seconds, int64_t ns) {
  constexpr int64_t kLongest = 50 * 86400;
  hooks().sleep_ns(std::min(seconds, kLongest) * kNsPerSecond + ns);
}

int sleep_timespec(const timespec* duration) {
  if (!is_valid(*duration)) return EINVAL;
  sleep_ns(duration->tv_sec, duration->tv_nsec);
  return 0;
}

int with_errno(int code) {
  if (code == 0) return 0;
  errno = code;
  return -1;
}

}  // namespace

extern "C" {

int rank_nanosleep(const timespec* duration, timespec* remaining) {
  if (!other_ranks_run()) return REAL(nanosleep)(duration, remaining);
  return with_errno(sleep_timespec(duration));
}
GLOBAL_NAME(nanosleep);

int rank_clock_gettime(clockid_t clock, timespec* result);

int rank_clock_nanosleep(clockid_t clock, int flags, const timespec* duration,
                         timespec* remaining) {
  if (!other_ranks_run()) return REAL(clock_nanosleep)(clock, flags, duration, remaining);
  if (!is_valid(*duration)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) return sleep_timespec(duration);
  timespec now;
  rank_clock_gettime(clock, &now);
  const int64_t wait =
      (duration->tv_sec - now.tv_sec) * kNsPerSecond + duration->tv_nsec - now.tv_nsec;
  if (wait > 0) sleep_ns(wait / kNsPerSecond, wait % kNsPerSecond);
  return 0;
}
GLOBAL_NAME(clock_nanosleep);

int rank_usleep(useconds_t duration) {
  if (!other_ranks_run()) return REAL(usleep)(duration);
  sleep_ns(duration / 1'000'000, int64_t{duration % 1'000'000} * 1000);
  return 0;
}
GLOBAL_NAME(usleep);

unsigned int rank_sleep(unsigned int seconds) {
  if (!other_ranks_run()) return REAL(sleep)(seconds);
  sleep_ns(seconds, 0);
  return 0;
}
GLOBAL_NAME(sleep);

// Programs that wait for other ranks' memory call it in their loops. It is charged 100 ns: a system
// call, as when nothing else is ready to run.
int rank_sched_yield() {
  if (!other_ranks_run()) return REAL(sched_yield)();
  sleep_ns(0, 100);
  return 0;
}
GLOBAL_NAME(sched_yield);

}  // extern "C"

void bind_sleeps(BindingTable& table) {
  BIND(table, nanosleep);
  BIND(table, clock_nanosleep);
  BIND(table, usleep);
  BIND(table, sleep);
  BIND(table, sched_yield);
  BIND_AS(table, "pthread_yield", sched_yield);
}

}  // namespace sesame::loader
