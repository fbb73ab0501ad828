// Clocks of a rank's process show simulated time, and sleeping lets it pass. Threads that have not
// called MPI, and processes that are no rank, get the C library's functions.
#include "core/remote/program/clocks.h"

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "core/remote/program/connection.h"

namespace sesame::remote {
namespace {

constexpr int64_t kBillion = 1'000'000'000;

// The C library's own function of this name.
template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define SESAME_REAL(name) static const auto real_##name = real<decltype(&::name)>(#name)

int64_t ask(Slot& slot, RequestKind kind, int64_t argument = 0) {
  Writer writer(slot.message, kMessageBytes);
  writer.put(argument);
  sesame_rank_exchange(header_of(kind, writer.bytes()));
  return Reader(slot.message, kMessageBytes).get<int64_t>();
}

bool is_processor_clock(clockid_t clock) {
  return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
}

bool is_calendar_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

int64_t clock_ns(Slot& slot, clockid_t clock) {
  if (is_processor_clock(clock)) return ask(slot, RequestKind::kReadProcessorClock) / 1000;
  return is_calendar_clock(clock) ? calendar_ns(slot) : run_ns(slot);
}

timespec to_timespec(int64_t ns) { return {ns / kBillion, ns % kBillion}; }

bool is_valid(const timespec& duration) {
  return duration.tv_sec >= 0 && duration.tv_nsec >= 0 && duration.tv_nsec < kBillion;
}

}  // namespace

Slot* simulated() {
  Slot* const slot = sesame_rank_thread_slot();
  return slot == nullptr || sesame_rank_is_busy() ? nullptr : slot;
}

int64_t calendar_ns(Slot& slot) { return slot.epoch_ns + run_ns(slot); }
int64_t run_ns(Slot& slot) { return ask(slot, RequestKind::kReadClock) / 1000; }

void sleep_ns(Slot& slot, int64_t seconds, int64_t ns) {
  constexpr int64_t kLongest = 25 * 86400;  // less than the simulator takes (request_checks.h)
  ask(slot, RequestKind::kSleep, (std::min(seconds, kLongest) * kBillion + ns) * 1000);
}

#define SESAME_CLOCK extern "C" __attribute__((visibility("default")))

SESAME_CLOCK int clock_gettime(clockid_t clock, timespec* result) noexcept {
  SESAME_REAL(clock_gettime);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_clock_gettime(clock, result);
  *result = to_timespec(clock_ns(*slot, clock));
  return 0;
}

SESAME_CLOCK int gettimeofday(timeval* result, void* zone) noexcept {
  SESAME_REAL(gettimeofday);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_gettimeofday(result, zone);
  if (zone != nullptr) memset(zone, 0, sizeof(struct timezone));
  if (result == nullptr) return 0;
  const int64_t ns = calendar_ns(*slot);
  *result = {ns / kBillion, ns % kBillion / 1000};
  return 0;
}

SESAME_CLOCK time_t time(time_t* result) noexcept {
  SESAME_REAL(time);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_time(result);
  const time_t now = calendar_ns(*slot) / kBillion;
  if (result != nullptr) *result = now;
  return now;
}

SESAME_CLOCK int timespec_get(timespec* result, int base) noexcept {
  SESAME_REAL(timespec_get);
  Slot* const slot = simulated();
  if (slot == nullptr || base != TIME_UTC) return real_timespec_get(result, base);
  *result = to_timespec(calendar_ns(*slot));
  return base;
}

SESAME_CLOCK clock_t clock() noexcept {
  SESAME_REAL(clock);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_clock();
  return clock_ns(*slot, CLOCK_PROCESS_CPUTIME_ID) / (kBillion / CLOCKS_PER_SEC);
}

SESAME_CLOCK clock_t times(tms* result) noexcept {
  SESAME_REAL(times);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_times(result);
  const int64_t ns_per_tick = kBillion / sysconf(_SC_CLK_TCK);
  if (result != nullptr)
    *result = {clock_ns(*slot, CLOCK_PROCESS_CPUTIME_ID) / ns_per_tick, 0, 0, 0};
  return run_ns(*slot) / ns_per_tick;
}

// Memory and counts of faults are those of the host's process.
SESAME_CLOCK int getrusage(__rusage_who_t who, rusage* result) noexcept {
  SESAME_REAL(getrusage);
  const int status = real_getrusage(who, result);
  Slot* const slot = simulated();
  if (slot == nullptr || status != 0) return status;
  const int64_t ns = who == RUSAGE_CHILDREN ? 0 : clock_ns(*slot, CLOCK_PROCESS_CPUTIME_ID);
  result->ru_utime = {ns / kBillion, ns % kBillion / 1000};
  result->ru_stime = {0, 0};
  return 0;
}

SESAME_CLOCK int nanosleep(const timespec* duration, timespec* remaining) {
  SESAME_REAL(nanosleep);
  Slot* const slot = simulated();
  if (slot == nullptr || !is_valid(*duration)) return real_nanosleep(duration, remaining);
  sleep_ns(*slot, duration->tv_sec, duration->tv_nsec);
  return 0;
}

SESAME_CLOCK int clock_nanosleep(clockid_t clock, int flags, const timespec* duration,
                                 timespec* remaining) {
  SESAME_REAL(clock_nanosleep);
  Slot* const slot = simulated();
  if (slot == nullptr || !is_valid(*duration))
    return real_clock_nanosleep(clock, flags, duration, remaining);
  int64_t ns = duration->tv_sec * kBillion + duration->tv_nsec;
  if ((flags & TIMER_ABSTIME) != 0) ns -= clock_ns(*slot, clock);
  if (ns > 0) sleep_ns(*slot, ns / kBillion, ns % kBillion);
  return 0;
}

SESAME_CLOCK int usleep(useconds_t duration) {
  SESAME_REAL(usleep);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_usleep(duration);
  sleep_ns(*slot, 0, int64_t{duration} * 1000);
  return 0;
}

SESAME_CLOCK unsigned int sleep(unsigned int seconds) {
  SESAME_REAL(sleep);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_sleep(seconds);
  sleep_ns(*slot, seconds, 0);
  return 0;
}

// Waiting for no descriptor for a time is sleeping. Waiting for some is the host's.

SESAME_CLOCK int poll(pollfd* descriptors, nfds_t count, int limit_ms) {
  SESAME_REAL(poll);
  Slot* const slot = simulated();
  if (slot == nullptr || count > 0 || limit_ms < 0) return real_poll(descriptors, count, limit_ms);
  sleep_ns(*slot, limit_ms / 1000, int64_t{limit_ms % 1000} * 1'000'000);
  return 0;
}

SESAME_CLOCK int ppoll(pollfd* descriptors, nfds_t count, const timespec* limit,
                       const sigset_t* mask) {
  SESAME_REAL(ppoll);
  Slot* const slot = simulated();
  if (slot == nullptr || count > 0 || limit == nullptr || !is_valid(*limit))
    return real_ppoll(descriptors, count, limit, mask);
  sleep_ns(*slot, limit->tv_sec, limit->tv_nsec);
  return 0;
}

SESAME_CLOCK int pselect(int count, fd_set* in, fd_set* out, fd_set* except, const timespec* limit,
                         const sigset_t* mask) {
  SESAME_REAL(pselect);
  Slot* const slot = simulated();
  const bool for_some = in != nullptr || out != nullptr || except != nullptr;
  if (slot == nullptr || for_some || limit == nullptr || !is_valid(*limit))
    return real_pselect(count, in, out, except, limit, mask);
  sleep_ns(*slot, limit->tv_sec, limit->tv_nsec);
  return 0;
}

SESAME_CLOCK int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* limit) {
  SESAME_REAL(select);
  const bool for_some = in != nullptr || out != nullptr || except != nullptr;
  if (simulated() == nullptr || for_some || limit == nullptr || limit->tv_sec < 0 ||
      limit->tv_usec < 0 || limit->tv_usec >= 1'000'000)
    return real_select(count, in, out, except, limit);
  const timespec same = {limit->tv_sec, limit->tv_usec * 1000};
  *limit = {};  // what is left
  return pselect(0, nullptr, nullptr, nullptr, &same, nullptr);
}

SESAME_CLOCK int sched_yield() noexcept {
  SESAME_REAL(sched_yield);
  Slot* const slot = simulated();
  if (slot == nullptr) return real_sched_yield();
  sleep_ns(*slot, 0, 100);
  return 0;
}

SESAME_CLOCK int gethostname(char* name, size_t size) noexcept {
  SESAME_REAL(gethostname);
  Slot* const slot = sesame_rank_slot();
  if (slot == nullptr) return real_gethostname(name, size);
  const size_t length = strnlen(slot->node_name, sizeof slot->node_name);
  memcpy(name, slot->node_name, std::min(length + 1, size));
  if (length < size) return 0;
  errno = ENAMETOOLONG;
  return -1;
}

SESAME_CLOCK int uname(utsname* names) noexcept {
  SESAME_REAL(uname);
  const int error = real_uname(names);
  if (const Slot* slot = sesame_rank_slot(); slot != nullptr && error == 0) {
    strncpy(names->nodename, slot->node_name, sizeof names->nodename - 1);
    names->nodename[sizeof names->nodename - 1] = '\0';
  }
  return error;
}

}  // namespace sesame::remote
