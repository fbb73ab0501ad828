// Gives the processor away while a thread waits for what comes soon.
//
// Use: one of these for each thread. Call begin_wait() once in each wait, and if it says so
// yield(), again and again while that says so; then sleep. Where others compute on this processor,
// a yield lasts a time slice of theirs, milliseconds; a thread that sleeps usually preempts them
// when it is woken. So after a long yield the next waits are without. By system call: where ranks
// are threads of this process, the C library's name is that of their simulated processor.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/time_stamp.h"

namespace sesame {

class Yielding {
 public:
  // The next so many waits after a long yield are without.
  static constexpr int kWaitsWithout = 64;

  // Returns whether to yield in this wait.
  bool begin_wait() {
    if (waits_without_ == 0) return true;
    --waits_without_;
    return false;
  }
  // Returns whether to do it again.
  bool yield() {
    // 0.3 ms at 3 GHz. Without others a yield takes less than a microsecond; time slices are of 0.7
    // ms and more.
    constexpr uint64_t kLongTicks = 1'000'000;
    const uint64_t begin = read_time_stamp();
    syscall(SYS_sched_yield);
    if (read_time_stamp() - begin < kLongTicks) return true;
    waits_without_ = kWaitsWithout;
    return false;
  }

 private:
  int waits_without_ = 0;
};

}  // namespace sesame
