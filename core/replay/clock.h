// The replayer's clocks (CLOCK_MONOTONIC and the thread's processor time, ns), and waiting until a
// time or until a computation is done.
#pragma once

#include <atomic>
#include <cstdint>

namespace sesame::replay {

int64_t now_ns();

// The clocks that a Waiter reads; tests have their own.
struct Clocks {
  int64_t (*now)();
  int64_t (*processor)();  // processor time of the calling thread
};
extern const Clocks kSystemClocks;

// How late the kernel wakes a thread that sleeps, measured by 64 trials when the replay begins.
struct WakeUp {
  int64_t median_ns = 0;
  int64_t latest_ns = 0;  // of all trials
};

// Shorter losses cannot be distinguished from the cost of the clocks, and are not recorded
// (tracer/processor.c).
inline constexpr int64_t kLeastLost = 10'000;

class Waiter {
 public:
  explicit Waiter(const Clocks& clocks = kSystemClocks) : clocks_(clocks) {}
  // Measures wake-ups on the calling thread, for some 10 ms.
  static Waiter measured(bool processor_for_each_thread);

  // Sleeps until shortly before `when_ns` and spins through the rest. With a processor for each
  // thread the spinning covers nearly every late wake-up. With fewer processors it covers only the
  // median, because it takes time from other threads. Returns the time at the end, which is before
  // `when_ns` only if `stop` is set.
  int64_t wait_until(int64_t when_ns, const std::atomic<bool>& stop) const;

  struct Computed {
    int64_t now_ns;   // at the end
    int64_t lost_ns;  // time during which other threads had the processor
  };
  // Replaces a computation from `begin_ns` to `when_ns`: spins until `when_ns`, and longer by the
  // time in which other threads had the processor.
  Computed compute(int64_t begin_ns, int64_t when_ns, const std::atomic<bool>& stop) const;

  const WakeUp& wake_up() const { return wake_up_; }
  int64_t spin_ns() const { return spin_ns_; }

 private:
  int64_t spin_until(int64_t when_ns, const std::atomic<bool>& stop) const;

  Clocks clocks_;
  WakeUp wake_up_;
  int64_t spin_ns_ = 0;
};

// Makes timers of the calling thread expire when they are due, not up to 50 µs later.
void ask_for_exact_timers();

}  // namespace sesame::replay
