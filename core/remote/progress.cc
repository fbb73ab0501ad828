#include "core/remote/progress.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "core/mpi/messages/world.h"

namespace sesame::remote {
namespace {

// What the processor clock may be ahead of the computation that the process will measure: the end
// of its wait for the turn, which takes up to 10 us with a switch of processes, and the readings of
// clocks. Chosen: several times that, and little compared with what is worth computing at once.
constexpr int64_t kMarginNs = 30'000;

IdlePolling* idle_polling = nullptr;

// The processor clock of a process. Nothing if it has ended.
std::optional<int64_t> processor_clock_ns(pid_t process) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return {};
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Whether all that the process does until its next call will be charged as computation.
bool computes_for_itself(const Channel& channel) {
  const Process& process = channel.process;
  const mpi::Rank& rank = *channel.strand->rank;
  return rank.initialized && rank.world.meter.options().mode == mpi::ComputeMode::kMeasured &&
         !process.has_threads() && channel.slot.threads_created == 0 && !channel.scope &&
         !channel.file_call && channel.callbacks == 0 && channel.strand->call_depth == 0;
}

SimTime to_target_time(const Channel& channel, SimTime host) {
  const mpi::Rank& rank = *channel.strand->rank;
  return rank.world.meter.scale(host, rank.slowdown);
}

SimTime to_host_time(const Channel& channel, SimTime target) {
  const mpi::Rank& rank = *channel.strand->rank;
  const double factor = rank.world.meter.options().ratio * rank.slowdown;
  return SimTime::from_ps(static_cast<int64_t>(static_cast<double>(target.ps()) / factor));
}

}  // namespace

void start_progress(IdlePolling* polling) { idle_polling = polling; }

void begin_progress(Channel& channel) {
  channel.progress = {};
  if (computes_for_itself(channel))
    channel.progress.begin_ns = processor_clock_ns(channel.process.caller);
}

SimTime reached(const Channel& channel) {
  return channel.strand->now + to_target_time(channel, channel.progress.computed);
}

SimTime read_progress(Channel& channel, SimTime time) {
  Progress& progress = channel.progress;
  if (!progress.begin_ns) return SimTime::never();
  const auto now_ns = processor_clock_ns(channel.process.caller);
  // Only then: what it defers later comes after the reading.
  if (!now_ns || channel.slot.deferred_bytes.load() != 0) return SimTime::never();
  progress.computed =
      std::max(progress.computed, SimTime::from_ns(*now_ns - *progress.begin_ns - kMarginNs));
  if (reached(channel) > time) return SimTime::zero();
  return to_host_time(channel, time - reached(channel)) + SimTime::from_ns(kMarginNs / 2);
}

SimTime end_progress(Channel& channel, SimTime computed) {
  if (idle_polling != nullptr) idle_polling->note_computation(computed.ps());
  return std::max(computed, std::exchange(channel.progress, {}).computed);
}

}  // namespace sesame::remote
