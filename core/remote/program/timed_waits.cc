// Waits of threads with a time limit: the program has calculated it from the simulated clock, and
// the C library would compare it with the host's. A wait takes host time; if it ends by its limit,
// simulated time passes until then. That of limits up to 5 ms does not: interpreters use them to
// look around while another thread computes.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <cerrno>

#include "core/remote/program/clocks.h"
#include "core/remote/program/team.h"

namespace sesame::remote {
namespace {

constexpr int64_t kBillion = 1'000'000'000;
constexpr int64_t kLookingAroundNs = 5'000'000;
// A limit above is a date, and below a time since the start of the run, which ends after 106 days.
constexpr time_t kFirstDateSeconds = 200 * 86400;

bool is_valid(const timespec& time) { return time.tv_nsec >= 0 && time.tv_nsec < kBillion; }

// In the year 2154, which is a number of nanoseconds still. Programs give the last time that the
// type has for a limit that never comes.
constexpr time_t kLastSecond = 185 * 365 * int64_t{86400};

struct Limit {
  explicit Limit(const timespec& given)
      : slot(is_valid(given) ? simulated() : nullptr), is_date(given.tv_sec >= kFirstDateSeconds) {
    if (slot == nullptr) return;
    const int64_t now_ns = is_date ? calendar_ns(*slot) : run_ns(*slot);
    const int64_t given_ns =
        std::clamp<time_t>(given.tv_sec, 0, kLastSecond) * kBillion + given.tv_nsec;
    left_ns = std::max<int64_t>(given_ns - now_ns, 0);
    clock = is_date ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    const int64_t end_ns = processor_ns(clock) + left_ns;
    on_host = {end_ns / kBillion, end_ns % kBillion};
  }
  // `error`: of the wait, which is returned.
  int pass(int error) const {
    if (error == ETIMEDOUT && left_ns > kLookingAroundNs)
      sleep_ns(*slot, left_ns / kBillion, left_ns % kBillion);
    return error;
  }

  Slot* slot;
  bool is_date;
  clockid_t clock = CLOCK_MONOTONIC;
  int64_t left_ns = 0;
  timespec on_host{};
};

int pass_errno(const Limit& limit, int result) {
  if (result == 0) return 0;
  errno = limit.pass(errno);
  return result;
}

}  // namespace
}  // namespace sesame::remote

using sesame::remote::Limit;

// The C library has an older pthread_cond_timedwait, too.
#define SESAME_REAL(name, address) \
  static const auto real = reinterpret_cast<decltype(&::name)>(address)
#define SESAME_WAIT extern "C" __attribute__((visibility("default"))) int

SESAME_WAIT pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                   const timespec* given) {
  SESAME_REAL(pthread_cond_timedwait, dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2"));
  const Limit limit(*given);
  if (limit.slot == nullptr) return real(condition, mutex, given);
  return limit.pass(real(condition, mutex, &limit.on_host));
}

SESAME_WAIT pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                   clockid_t clock, const timespec* given) {
  SESAME_REAL(pthread_cond_clockwait, dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
  const Limit limit(*given);
  if (limit.slot == nullptr) return real(condition, mutex, clock, given);
  return limit.pass(real(condition, mutex, limit.clock, &limit.on_host));
}

SESAME_WAIT sem_timedwait(sem_t* semaphore, const timespec* given) {
  SESAME_REAL(sem_timedwait, dlsym(RTLD_NEXT, "sem_timedwait"));
  const Limit limit(*given);
  if (limit.slot == nullptr) return real(semaphore, given);
  return sesame::remote::pass_errno(limit, real(semaphore, &limit.on_host));
}

SESAME_WAIT sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* given) {
  SESAME_REAL(sem_clockwait, dlsym(RTLD_NEXT, "sem_clockwait"));
  const Limit limit(*given);
  if (limit.slot == nullptr) return real(semaphore, clock, given);
  return sesame::remote::pass_errno(limit, real(semaphore, limit.clock, &limit.on_host));
}
