// Wakes a thread that waits for several things at once, which other threads or processes do in
// memory that they share with it.
//
// Use: the bell is in shared memory, which is zero at first. One thread, its owner, waits:
// look_for() first, if what it waits for comes soon, then sleep_until(). Each other one that makes
// what the owner waits for true calls ring_if_asleep() afterwards, which makes no system call
// unless the owner sleeps. Times are nanoseconds of the host's clock. None of this changes errno.
//
// No wake-up is lost: the last store that makes it true, the loads of is_there(), and those of the
// bell are sequentially consistent. Either the owner sees it after it has said that it sleeps, or
// the other one sees that it sleeps. It rings before the owner asks the kernel to sleep, which then
// finds another number of rings, or afterwards, which wakes it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace sesame {

// Waits while the word has this value, or wakes so many that wait: futex(2). `longest`: null: for
// ever. Returns 0 or the number of the error.
template <typename Word>
int futex(std::atomic<Word>& word, int operation, Word value, const timespec* longest = nullptr) {
  static_assert(sizeof word == sizeof(uint32_t));
  const int kept = errno;
  const bool failed = syscall(SYS_futex, &word, operation, value, longest, nullptr, 0) < 0;
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

// Sleeps until `is_there()`, or until the time has passed (0: for ever). Returns whether it is
// there.
template <typename Condition>
bool sleep_until(Doorbell& bell, Condition&& is_there, int64_t longest_ns = 0) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec longest{longest_ns / kSecond, longest_ns % kSecond};
  bool is_late = false;
  for (;;) {
    const uint32_t rings = bell.rings.load();
    bell.owner_sleeps.store(1);
    if (is_there() || is_late) break;
    is_late =
        futex(bell.rings, FUTEX_WAIT, rings, longest_ns == 0 ? nullptr : &longest) == ETIMEDOUT;
  }
  bell.owner_sleeps.store(0);
  return is_there();
}

}  // namespace sesame
