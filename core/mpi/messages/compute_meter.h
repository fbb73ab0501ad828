// How long the program computes between its calls, measured or taken from an earlier run.
//
// Use: configure() once; measure() when a rank enters the simulator, resume() when it returns to
// the program; scale() converts the result to target time. Only one rank that is a fiber runs at a
// time, so one meter serves all of them; a rank's process has its own. Host times are unscaled; one
// thread.
//
// The time-stamp counter measures the time. If an interval is longer than 50 us, the meter reads
// the thread's CPU clock too and subtracts the time that the thread was off the CPU. It does not do
// so for shorter intervals, because reading that clock is a system call.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/time_stamp.h"
#include "core/base/units.h"

namespace sesame::mpi {

// Where compute times come from: measured now, always zero, the same for each call, or from an
// earlier run.
enum class ComputeMode : uint8_t { kMeasured, kNone, kFixed, kRecorded };

struct ComputeOptions {
  ComputeMode mode = ComputeMode::kMeasured;
  double ratio = 1.0;  // target time per host time, for measured and recorded
  SimTime fixed;       // per call, for fixed
};

// What ends an interval of computation. A recorded run has one time for each call and each poll,
// and one for the end of the rank. It has none for clock reads and sleeps between calls.
enum class ComputeEnd : uint8_t { kCall, kPoll, kClock, kExit };

// One rank's compute times from an earlier run, unscaled, in order (recorded mode). How often a
// program polls may depend on the machine, so polls are matched only between two other calls: extra
// polls get no computation, and the computation before missing polls is dropped.
struct RecordedCompute {
  std::vector<int64_t> durations_ps;  // before each call; ~t for the time t before a poll
  int64_t after_calls_ps = 0;
  size_t next = 0;

  // The next recorded computation that ends with `end`, and advances in the record. Zero if the
  // record has none.
  SimTime take(ComputeEnd end);
};

class ComputeMeter {
 public:
  // Takes 10 ms the first time that computation is to be measured.
  void configure(const ComputeOptions& options);
  const ComputeOptions& options() const { return options_; }

  // The program resumes computing now.
  void resume() {
    if (options_.mode != ComputeMode::kMeasured || is_given_) return;
    const uint64_t ticks = read_time_stamp();
    if (ticks - charged_at_ > long_ticks_) [[unlikely]]
      set_checkpoint(ticks);
    resumed_at_ = ticks;
  }

  // Host compute time since resume(), unscaled; zero unless measured.
  SimTime measure() {
    if (options_.mode != ComputeMode::kMeasured) return SimTime::zero();
    if (is_given_) [[unlikely]]
      return std::exchange(given_, SimTime::zero());
    const uint64_t ticks = read_time_stamp();
    uint64_t elapsed = ticks - resumed_at_;
    if (elapsed > long_ticks_) [[unlikely]]
      elapsed = on_cpu(ticks, elapsed);
    charged_at_ = ticks;
    elapsed = elapsed > overhead_ticks_ ? elapsed - overhead_ticks_ : 0;
    return SimTime::from_ps(static_cast<int64_t>(static_cast<double>(elapsed) * ps_per_tick_));
  }

  // For ranks that are processes of their own, and measure with a copy of this meter: adds to what
  // measure() returns next.
  void give(SimTime measured) {
    is_given_ = true;
    given_ += measured;
  }

  // The time of the two clock readings around a sample, which limits the resolution. Zero until
  // configured to measure.
  SimTime reading() const { return reading_; }

  // Converts host time to target time. `slowdown`: how many times longer the rank computes than if
  // it were alone on its node.
  SimTime scale(SimTime host, double slowdown) const {
    static const Parameter ratio = Parameter::of("node.compute_ratio");
    const double factor = options_.ratio * slowdown;
    return SimTime::from_ps(static_cast<int64_t>(static_cast<double>(host.ps()) * factor))
        .due_to(ratio);
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
  // The last time at which both clocks were read. Since then they differ by the time that this
  // thread was off the CPU.
  uint64_t checkpoint_ticks_ = 0;
  int64_t checkpoint_cpu_ns_ = 0;
  bool is_given_ = false;
  SimTime given_;
};

}  // namespace sesame::mpi
