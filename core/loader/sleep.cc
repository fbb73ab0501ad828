// Sleeping advances the rank's simulated time and costs no wall time.
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
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
  hooks().sleep(SimTime::from_ns(std::min(seconds, kLongest) * kNsPerSecond + ns));
}

int sleep_timespec(const timespec* duration) {
  if (!is_valid(*duration)) return EINVAL;
  sleep_ns(duration->tv_sec, duration->tv_nsec);
  return 0;
}

bool is_sleep(int count, const fd_set* a, const fd_set* b, const fd_set* c) {
  return count == 0 || (a == nullptr && b == nullptr && c == nullptr);
}

int with_errno(int code) {
  if (code == 0) return 0;
  errno = code;
  return -1;
}

}  // namespace

extern "C" {

int rank_nanosleep(const timespec* duration, timespec* remaining) {
  if (current() == nullptr) return REAL(nanosleep)(duration, remaining);
  return with_errno(sleep_timespec(duration));
}
GLOBAL_NAME(nanosleep);

int rank_clock_gettime(clockid_t clock, timespec* result);

int rank_clock_nanosleep(clockid_t clock, int flags, const timespec* duration,
                         timespec* remaining) {
  if (current() == nullptr) return REAL(clock_nanosleep)(clock, flags, duration, remaining);
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
  if (current() == nullptr) return REAL(usleep)(duration);
  sleep_ns(duration / 1'000'000, int64_t{duration % 1'000'000} * 1000);
  return 0;
}
GLOBAL_NAME(usleep);

unsigned int rank_sleep(unsigned int seconds) {
  if (current() == nullptr) return REAL(sleep)(seconds);
  sleep_ns(seconds, 0);
  return 0;
}
GLOBAL_NAME(sleep);

// Programs that wait for other ranks' memory call it in their loops. It is charged 100 ns: a system
// call, as when nothing else is ready to run.
int rank_sched_yield() {
  if (current() == nullptr) return REAL(sched_yield)();
  sleep_ns(0, 100);
  return 0;
}
GLOBAL_NAME(sched_yield);

int rank_select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  if (current() == nullptr || timeout == nullptr || !is_sleep(count, in, out, except))
    return REAL(select)(count, in, out, except, timeout);
  sleep_ns(timeout->tv_sec, timeout->tv_usec * 1000);
  *timeout = {0, 0};
  return 0;
}

int rank_pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout,
                 const sigset_t* mask) {
  if (current() == nullptr || timeout == nullptr || !is_sleep(count, in, out, except))
    return REAL(pselect)(count, in, out, except, timeout, mask);
  return with_errno(sleep_timespec(timeout));
}

int rank_poll(pollfd* descriptors, nfds_t count, int timeout_ms) {
  if (current() != nullptr && timeout_ms < 0) return wait_for_descriptors(descriptors, count);
  if (current() == nullptr || count != 0) return REAL(poll)(descriptors, count, timeout_ms);
  sleep_ns(timeout_ms / 1000, int64_t{timeout_ms % 1000} * 1'000'000);
  return 0;
}

int rank_ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  if (current() == nullptr || count != 0 || timeout == nullptr)
    return REAL(ppoll)(descriptors, count, timeout, mask);
  return with_errno(sleep_timespec(timeout));
}

}  // extern "C"

void bind_sleeps(BindingTable& table) {
  BIND(table, nanosleep);
  BIND(table, clock_nanosleep);
  BIND(table, usleep);
  BIND(table, sleep);
  BIND(table, sched_yield);
  BIND_AS(table, "pthread_yield", sched_yield);
  BIND(table, select);
  BIND_AS(table, "__select", select);
  BIND(table, pselect);
  BIND(table, poll);
  BIND(table, ppoll);
}

}  // namespace sesame::loader
