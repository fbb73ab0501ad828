// The replayer's clock: nanoseconds of the monotonic clock, and waiting for a moment of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace sesame::replay {

int64_t now_ns();

// How late the kernel wakes a thread that sleeps, measured when the replay begins.
struct WakeUp {
  int64_t median_ns = 0;
  int64_t p99_ns = 0;
};

// Sleeps for the longer part of a wait and spins through the rest. With a processor for each
// thread the spinning covers nearly every late wake-up; with fewer it would take time from
// others, and covers only the usual one. Who keeps its processor only spins.
class Waiter {
 public:
  static Waiter measured(bool processor_for_each_thread);

  // Returns the time at the end; early when `stop` is set.
  int64_t wait_until(int64_t when_ns, bool keeps_processor, const std::atomic<bool>& stop) const;

  const WakeUp& wake_up() const { return wake_up_; }
  int64_t spin_ns() const { return spin_ns_; }

 private:
  WakeUp wake_up_;
  int64_t spin_ns_ = 0;
};

// Timers of the calling thread fire when they are due, not up to 50 µs later.
void ask_for_exact_timers();

}  // namespace sesame::replay
