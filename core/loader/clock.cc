// Clocks show simulated time while a rank is active: wall clocks the time of the rank, processor
// clocks what it has computed.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

extern "C" double omp_get_wtime();
extern "C" double omp_get_wtick();

namespace sesame::loader {
namespace {

constexpr int64_t kBillion = 1'000'000'000;

bool is_processor_clock(clockid_t clock) {
  return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
}

bool is_calendar_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ||
         clock == CLOCK_REALTIME_ALARM;
}

int64_t calendar_ns() { return hooks().epoch_ns + hooks().now_ps() / 1000; }

int64_t clock_ns(clockid_t clock) {
  if (is_processor_clock(clock)) return hooks().cpu_time_ps() / 1000;
  return is_calendar_clock(clock) ? calendar_ns() : hooks().now_ps() / 1000;
}

timespec to_timespec(int64_t ns) { return {ns / kBillion, ns % kBillion}; }
timeval to_timeval(int64_t ns) { return {ns / kBillion, ns % kBillion / 1000}; }

}  // namespace

extern "C" {

int rank_clock_gettime(clockid_t clock, timespec* result) {
  if (current() == nullptr) return REAL(clock_gettime)(clock, result);
  *result = to_timespec(clock_ns(clock));
  return 0;
}
GLOBAL_NAME(clock_gettime);

int rank_gettimeofday(timeval* result, void* zone) {
  if (current() == nullptr) return REAL(gettimeofday)(result, zone);
  if (result != nullptr) *result = to_timeval(calendar_ns());
  if (zone != nullptr) memset(zone, 0, sizeof(struct timezone));
  return 0;
}
GLOBAL_NAME(gettimeofday);

time_t rank_time(time_t* result) {
  if (current() == nullptr) return REAL(time)(result);
  const time_t now = calendar_ns() / kBillion;
  if (result != nullptr) *result = now;
  return now;
}
GLOBAL_NAME(time);

clock_t rank_clock() {
  if (current() == nullptr) return REAL(clock)();
  return hooks().cpu_time_ps() / (1'000'000'000'000 / CLOCKS_PER_SEC);
}
GLOBAL_NAME(clock);

clock_t rank_times(tms* result) {
  if (current() == nullptr) return REAL(times)(result);
  const int64_t ticks_per_second = sysconf(_SC_CLK_TCK);
  const auto ticks = [&](int64_t ps) { return ps / (1'000'000'000'000 / ticks_per_second); };
  if (result != nullptr) *result = {ticks(hooks().cpu_time_ps()), 0, 0, 0};
  return ticks(hooks().now_ps());
}
GLOBAL_NAME(times);

int rank_timespec_get(timespec* result, int base) {
  if (current() == nullptr) return REAL(timespec_get)(result, base);
  if (base != TIME_UTC) return 0;
  *result = to_timespec(calendar_ns());
  return base;
}
GLOBAL_NAME(timespec_get);

int rank_ftime(timeb* result) {
  const int64_t ns = current() != nullptr ? calendar_ns() : REAL(time)(nullptr) * kBillion;
  *result = {};
  result->time = ns / kBillion;
  result->millitm = static_cast<unsigned short>(ns % kBillion / 1'000'000);
  return 0;
}

// Memory and fault counts remain those of the host process.
int rank_getrusage(int who, rusage* result) {
  const int status = REAL(getrusage)(static_cast<__rusage_who>(who), result);
  if (current() == nullptr || status != 0) return status;
  result->ru_utime = to_timeval(who == RUSAGE_CHILDREN ? 0 : hooks().cpu_time_ps() / 1000);
  result->ru_stime = {0, 0};
  return 0;
}
GLOBAL_NAME(getrusage);

double rank_omp_get_wtime() {
  if (current() != nullptr) return static_cast<double>(hooks().now_ps()) * 1e-12;
  timespec now;
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double rank_omp_get_wtick() { return 1e-9; }

}  // extern "C"

int host_clock_gettime(int clock, timespec* result) { return REAL(clock_gettime)(clock, result); }

void bind_clocks(BindingTable& table) {
  BIND(table, clock_gettime);
  BIND(table, gettimeofday);
  BIND(table, time);
  BIND(table, clock);
  BIND(table, times);
  BIND(table, timespec_get);
  BIND(table, ftime);
  BIND(table, getrusage);
  BIND(table, omp_get_wtime);
  BIND(table, omp_get_wtick);
  BIND_AS(table, "omp_get_wtime_", omp_get_wtime);
  BIND_AS(table, "omp_get_wtick_", omp_get_wtick);
}

}  // namespace sesame::loader
