// Says on stderr when no rank's process has made a call for long, and which ones are waited for:
// they compute, perhaps in an endless loop, or wait for something outside of the simulation.
//
// Use: end() when a thread has called; otherwise look() before the simulator sleeps, at most as
// long as it returns. Nanoseconds of the host's clock. The simulator's thread only.
#pragma once

#include <cstdint>
#include <span>

#include "core/remote/host_clock.h"
#include "core/remote/process.h"

namespace sesame::remote {

class Silence {
 public:
  // `first_ns`: after how long a first line is written; each further one after twice the time.
  // `now_ns`: the clock, never 0.
  explicit Silence(int64_t first_ns, int64_t (*now_ns)() = host_ns)
      : first_ns_(first_ns), now_ns_(now_ns) {}

  void end() { began_ns_ = 0; }
  // Until the next line is due.
  int64_t look(std::span<Channel* const> awaited);

 private:
  int64_t first_ns_;
  int64_t (*now_ns_)();
  int64_t began_ns_ = 0;  // 0: there is none
  int64_t due_ns_ = 0;    // after that
};

}  // namespace sesame::remote
