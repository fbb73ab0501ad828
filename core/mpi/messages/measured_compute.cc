#include "core/mpi/messages/measured_compute.h"

#include <algorithm>
#include <cstdlib>

namespace sesame::mpi {
namespace {

// Limits the memory of programs that generate code. Others have fewer call sites.
constexpr size_t kMostRegions = 4096;

}  // namespace

ComputeSpread& ComputeSpread::operator+=(const ComputeSpread& other) {
  samples += other.samples;
  regions += other.regions;
  total_ps += other.total_ps;
  short_ps += other.short_ps;
  repeated_ps += other.repeated_ps;
  difference_ps += other.difference_ps;
  fastest_ps += other.fastest_ps;
  return *this;
}

void MeasuredCompute::sample(const void* caller, SimTime host) {
  const int64_t time_ps = host.ps();
  ++samples_;
  total_ps_ += time_ps;
  if (host <= short_limit_) short_ps_ += time_ps;
  const Region region{last_caller_, caller};
  last_caller_ = caller;
  auto found = regions_.find(region);
  if (found == regions_.end()) {
    if (regions_.size() >= kMostRegions) return;
    found = regions_.emplace(region, Samples{}).first;
  }
  Samples& samples = found->second;
  if (samples.count++ > 0) {
    samples.sum_ps += time_ps;
    samples.fastest_ps = std::min(samples.fastest_ps, time_ps);
    if (samples.count > 2) samples.difference_ps += std::abs(time_ps - samples.last_ps);
  }
  samples.last_ps = time_ps;
}

ComputeSpread MeasuredCompute::spread() const {
  ComputeSpread spread;
  spread.samples = samples_;
  spread.regions = regions_.size();
  spread.total_ps = total_ps_;
  spread.short_ps = short_ps_;
  for (const auto& [region, samples] : regions_) {
    if (samples.count < 3) continue;
    const auto repeats = static_cast<int64_t>(samples.count - 1);
    spread.repeated_ps += samples.sum_ps;
    spread.fastest_ps += samples.fastest_ps * repeats;
    // n samples have n - 1 differences. Their sum is scaled to n differences, so that its ratio to
    // repeated_ps is that of the means.
    spread.difference_ps += samples.difference_ps / (repeats - 1) * repeats;
  }
  return spread;
}

}  // namespace sesame::mpi
