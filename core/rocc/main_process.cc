#include "core/rocc/main_process.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sesame::rocc {

size_t LatencyHistogram::bucket_of(uint64_t ps) {
  const int exponent = static_cast<int>(std::bit_width(ps)) - 1;
  if (exponent < kBits) return ps;
  const uint64_t mantissa = ps >> (exponent - kBits);  // from 2^kBits on
  return (static_cast<size_t>(exponent - kBits) << kBits) + mantissa;
}

uint64_t LatencyHistogram::least_of(size_t bucket) {
  const size_t octave = bucket >> kBits;
  if (octave < 2) return bucket;
  const uint64_t mantissa = (bucket & ((size_t{1} << kBits) - 1)) | (size_t{1} << kBits);
  return mantissa << (octave - 1);
}

void LatencyHistogram::add(SimTime length) {
  ++counts_[bucket_of(static_cast<uint64_t>(std::max<int64_t>(length.ps(), 0)))];
  ++total_;
}

double LatencyHistogram::quantile(double share) const {
  if (total_ == 0) return std::numeric_limits<double>::quiet_NaN();
  double left = share * static_cast<double>(total_);
  for (size_t bucket = 0; bucket + 1 < counts_.size(); ++bucket) {
    const double count = counts_[bucket];
    if (count > 0 && left <= count) {
      const auto least = static_cast<double>(least_of(bucket));
      const auto most = static_cast<double>(least_of(bucket + 1));
      return (least + (most - least) * left / count) * 1e-12;
    }
    left -= count;
  }
  return static_cast<double>(least_of(counts_.size() - 1)) * 1e-12;
}

MainQueue::MainQueue(const MainProcess& kind, StreamName stream, SimTime begin, SimTime end)
    : kind_(kind), random_(stream), begin_(begin), end_(end) {}

SimTime MainQueue::within(SimTime from, SimTime until) const {
  const SimTime first = std::max(from, begin_);
  const SimTime last = std::min(until, end_);
  return last > first ? last - first : SimTime::zero();
}

void MainQueue::receive(const Message& message, std::span<const SimTime> ages) {
  const SimTime network = kind_.network.draw(random_);
  SimTime cpu = kind_.cpu.draw(random_);
  if (!kind_.cpu_per_sample.is_nothing()) {
    for (size_t i = 0; i < ages.size(); ++i) cpu += kind_.cpu_per_sample.draw(random_);
  }
  network_free_ = later(network_free_, message.time) + network;
  const SimTime start = later(processor_free_, network_free_);
  processor_free_ = start + cpu;
  cpu_ += within(start, processor_free_);
  if (message.time > begin_ && message.time <= end_) {
    requested_cpu_ += cpu;
    requested_network_ += network;
  }
  if (processor_free_ > end_ || processor_free_ <= begin_) return;
  ++messages_;
  samples_ += ages.size();
  for (const SimTime age : ages) {
    const SimTime latency = age + (processor_free_ - message.time);
    latency_sum_s_ += latency.seconds();
    latencies_.add(latency);
  }
}

double MainQueue::mean_latency_s() const {
  if (samples_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return latency_sum_s_ / static_cast<double>(samples_);
}

}  // namespace sesame::rocc
