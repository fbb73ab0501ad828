// Gives the processor away while a thread waits for what comes soon.
//
// Use: one of these for each thread. In each wait ask is_sensible() first, and call yield() again
// and again while it says so; then sleep. Where others compute on this processor, a yield lasts a
// time slice of theirs, milliseconds; a thread that sleeps preempts them when it is woken. So after
// one that was long, the next waits are without. By system call: where ranks are threads of this
// process, the C library's name is that of their simulated processor.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/time_stamp.h"

namespace sesame {

class Yielding {
 public:
  // Once for each wait.
  bool is_sensible() {
    if (waits_without_ > 0) {
      --waits_without_;
      return false;
    }
    before_ = read_time_stamp();
    return true;
  }
  // Returns whether to do it again.
  bool yield() {
    constexpr uint64_t kLongTicks = 3'000'000;  // a millisecond at 3 GHz
    constexpr int kWaitsUntilNextTry = 64;
    syscall(SYS_sched_yield);
    const uint64_t after = read_time_stamp();
    const uint64_t ticks = after - before_;
    before_ = after;
    if (ticks < kLongTicks) return true;
    waits_without_ = kWaitsUntilNextTry;
    return false;
  }

 private:
  int waits_without_ = 0;
  uint64_t before_ = 0;  // the last yield: a time stamp
};

}  // namespace sesame
