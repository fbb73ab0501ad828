#include "core/mpi/messages/compute_meter.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sesame::mpi {
namespace {

// Longer intervals are checked for time off the CPU. The check is a system call, too expensive for
// the many shorter intervals (it took 3 us in a virtual machine). Shorter intervals need no check:
// when the kernel runs another process, it does so for about a millisecond, so that the interval is
// longer than this.
constexpr double kLongIntervalSeconds = 50e-6;

// Makes the system call itself, since for a rank clock_gettime() reads the simulated clock.
int64_t read_clock_ns(clockid_t clock) {
  timespec time{};
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(228L /* SYS_clock_gettime */), "D"(clock), "S"(&time)
               : "rcx", "r11", "memory");
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace

SimTime RecordedCompute::take(ComputeEnd end) {
  const auto is_poll = [this] { return next < durations_ps.size() && durations_ps[next] < 0; };
  switch (end) {
    case ComputeEnd::kPoll:
      return is_poll() ? SimTime::from_ps(~durations_ps[next++]) : SimTime::zero();
    case ComputeEnd::kCall:
      while (is_poll()) ++next;
      return next < durations_ps.size() ? SimTime::from_ps(durations_ps[next++]) : SimTime::zero();
    case ComputeEnd::kExit:
      return SimTime::from_ps(after_calls_ps);
    case ComputeEnd::kClock:
      break;
  }
  return SimTime::zero();
}

void ComputeMeter::configure(const ComputeOptions& options) {
  options_ = options;
  if (options.mode == ComputeMode::kMeasured && ps_per_tick_ == 0) calibrate();
}

// Measures the counter against the raw monotonic clock for 10 ms: an error of one clock reading
// (about 100 ns) is 1e-5 of that.
void ComputeMeter::calibrate() {
  const int64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  const uint64_t begin = read_time_stamp();
  int64_t end_ns = begin_ns;
  while (end_ns - begin_ns < 10'000'000) end_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  const uint64_t end = read_time_stamp();
  ps_per_tick_ = static_cast<double>(end_ns - begin_ns) * 1000.0 / static_cast<double>(end - begin);

  overhead_ticks_ = 0;
  uint64_t least = UINT64_MAX;
  std::array<uint64_t, 1001> begins{};
  for (uint64_t& begin_of_sample : begins) {
    resume();
    begin_of_sample = resumed_at_;
    least = std::min<uint64_t>(least, read_time_stamp() - begin_of_sample);
  }
  overhead_ticks_ = least;
  std::adjacent_difference(begins.begin(), begins.end(), begins.begin());
  const auto median = begins.begin() + 501;  // the first is no difference
  std::nth_element(begins.begin() + 1, median, begins.end());
  reading_ = SimTime::from_ps(static_cast<int64_t>(static_cast<double>(*median) * ps_per_tick_));
  long_ticks_ = static_cast<uint64_t>(kLongIntervalSeconds * 1e12 / ps_per_tick_);
  set_checkpoint(read_time_stamp());
}

void ComputeMeter::set_checkpoint(uint64_t ticks) {
  checkpoint_ticks_ = ticks;
  checkpoint_cpu_ns_ = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t ComputeMeter::on_cpu(uint64_t ticks, uint64_t elapsed) {
  const uint64_t since = ticks - checkpoint_ticks_;
  const int64_t before_ns = checkpoint_cpu_ns_;
  set_checkpoint(ticks);
  const double cpu_ticks =
      static_cast<double>(checkpoint_cpu_ns_ - before_ns) * 1000.0 / ps_per_tick_;
  const double away = std::max(0.0, static_cast<double>(since) - cpu_ticks);
  return static_cast<uint64_t>(std::max(0.0, static_cast<double>(elapsed) - away));
}

}  // namespace sesame::mpi
