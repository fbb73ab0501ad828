// How long the program computes between its calls. The simulator charges the meter when a rank
// enters it and resumes it when the rank goes on; only one rank runs at a time, so one meter
// serves them all. Measured time comes from the time-stamp counter; where an interval is longer
// than 50 us the thread's CPU clock decides, so that time during which the host ran something else
// does not count (the counter itself cannot tell, and the clock costs a system call).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::mpi {

// The time-stamp counter. <x86intrin.h> has a name for it, but takes longer to compile than most
// of what would include it.
inline uint64_t read_counter() { return __builtin_ia32_rdtsc(); }

enum class ComputeMode : uint8_t { kMeasured, kNone, kFixed, kRecorded };

struct ComputeOptions {
  ComputeMode mode = ComputeMode::kMeasured;
  double ratio = 1.0;  // target time per host time, for measured and recorded
  SimTime fixed;       // per call, for fixed
};

// What computation ends with: calls and polls have a record of their own, a clock that the program
// reads between them (or a sleep) has none, and nor has the rank's end.
enum class ComputeEnd : uint8_t { kCall, kPoll, kClock, kExit };

// One rank's compute times from an earlier run, unscaled, taken in order (recorded mode). How often
// a program polls may depend on the machine: polls are matched from one other call to the next; one
// more than recorded has no computation before it, and that of one fewer is left out.
struct RecordedCompute {
  std::vector<int64_t> durations_ps;  // before each call; ~t for the time t before a poll
  int64_t after_calls_ps = 0;
  size_t next = 0;

  SimTime take(ComputeEnd end);
};

class ComputeMeter {
 public:
  void configure(const ComputeOptions& options);
  const ComputeOptions& options() const { return options_; }

  // The program goes on now.
  void resume() {
    if (options_.mode != ComputeMode::kMeasured) return;
    const uint64_t ticks = read_counter();
    if (ticks - charged_at_ > long_ticks_) [[unlikely]]
      set_checkpoint(ticks);
    resumed_at_ = ticks;
  }

  // Host compute time since resume(), unscaled; zero unless measured.
  SimTime measure() {
    if (options_.mode != ComputeMode::kMeasured) return SimTime::zero();
    const uint64_t ticks = read_counter();
    uint64_t elapsed = ticks - resumed_at_;
    if (elapsed > long_ticks_) [[unlikely]]
      elapsed = on_cpu(ticks, elapsed);
    charged_at_ = ticks;
    elapsed = elapsed > overhead_ticks_ ? elapsed - overhead_ticks_ : 0;
    return SimTime::from_ps(static_cast<int64_t>(static_cast<double>(elapsed) * ps_per_tick_));
  }

  // What it takes to read the clock at both ends of a sample: no computation can be measured more
  // exactly. Zero until configured.
  SimTime reading() const { return reading_; }

  // Host time to target time, of a rank that computes `slowdown` times as long as one alone.
  SimTime scale(SimTime host, double slowdown) const {
    const double factor = options_.ratio * slowdown;
    return SimTime::from_ps(static_cast<int64_t>(static_cast<double>(host.ps()) * factor));
  }

 private:
  void calibrate();
  void set_checkpoint(uint64_t ticks);
  uint64_t on_cpu(uint64_t ticks, uint64_t elapsed);

  ComputeOptions options_;
  double ps_per_tick_ = 0;
  uint64_t long_ticks_ = UINT64_MAX;
  uint64_t overhead_ticks_ = 0;
  SimTime reading_;
  uint64_t resumed_at_ = 0;
  uint64_t charged_at_ = 0;
  // A moment at which both clocks were read: until the next one they must agree but for the time
  // that this thread was off the CPU.
  uint64_t checkpoint_ticks_ = 0;
  int64_t checkpoint_cpu_ns_ = 0;
};

}  // namespace sesame::mpi
