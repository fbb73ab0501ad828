// Wakes a thread that waits for several things at once. Other threads or processes do them in
// memory that they share with it.
//
// Use: the bell is in shared memory, which is zero at first. One thread, its owner, waits at it. It
// calls look_for() first if what it waits for comes soon, and then sleep_until(). Others make true
// what it waits for, and call ring_if_asleep() afterwards. This makes a system call only if the
// owner sleeps. Times are nanoseconds of the host's clock. None of this changes errno.
//
// No wake-up is lost. Three accesses are sequentially consistent: the last store that makes it
// true, the loads of is_there(), and those of the bell. So there are two cases. The owner says that
// it sleeps, looks once more, and sees the store. Or the other one sees that the owner sleeps, and
// rings. If it rings before the owner asks the kernel to sleep, the kernel finds another number of
// rings, and the owner looks again. If it rings afterwards, the owner wakes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>

namespace sesame {

// Waits while the word has this value, or wakes so many that wait: futex(2). `until`: of
// CLOCK_MONOTONIC, for FUTEX_WAIT_BITSET only; null: for ever. Returns 0 or the number of the
// error.
template <typename Word>
int futex(std::atomic<Word>& word, int operation, Word value, const timespec* until = nullptr) {
  static_assert(sizeof word == sizeof(uint32_t));
  const int kept = errno;
  const bool failed =
      syscall(SYS_futex, &word, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY) < 0;
  const int error = failed ? errno : 0;
  errno = kept;
  return error;
}

struct Doorbell {
  alignas(64) std::atomic<uint32_t> rings;  // so far
  std::atomic<uint32_t> owner_sleeps;
};

// Also if the owner does not sleep: it looks again if it is about to.
inline void ring(Doorbell& bell) {
  bell.rings.fetch_add(1);
  futex(bell.rings, FUTEX_WAKE, 1U);
}

inline void ring_if_asleep(Doorbell& bell) {
  if (bell.owner_sleeps.load() != 0) ring(bell);
}

// Looks `times` times whether `is_there()`, and ends when it is; returns whether.
template <typename Condition>
bool look_for(uint32_t times, Condition&& is_there) {
  for (uint32_t i = 0; i < times; ++i) {
    if (is_there()) return true;
    __builtin_ia32_pause();
  }
  return is_there();
}

// This time from now on, of CLOCK_MONOTONIC. By system call: where ranks are threads of this
// process, the C library's name is that of their simulated clock.
inline timespec monotonic_in(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  const int64_t part = now.tv_nsec + ns % kSecond;
  return {now.tv_sec + ns / kSecond + part / kSecond, part % kSecond};
}

// Sleeps until `is_there()`, or until the time has passed; without one: for ever. Returns whether
// it is there. Rings for something else do not make the time longer.
template <typename Condition>
bool sleep_until(Doorbell& bell, Condition&& is_there, std::optional<int64_t> longest_ns = {}) {
  const timespec until = longest_ns ? monotonic_in(*longest_ns) : timespec{};
  bool is_late = false;
  for (;;) {
    const uint32_t rings = bell.rings.load();
    bell.owner_sleeps.store(1);
    if (is_there() || is_late) break;
    is_late =
        futex(bell.rings, FUTEX_WAIT_BITSET, rings, longest_ns ? &until : nullptr) == ETIMEDOUT;
  }
  bell.owner_sleeps.store(0);
  return is_there();
}

}  // namespace sesame
