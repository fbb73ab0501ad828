// The main process: a queue of messages before its network, then one before its processor, both
// served in the order of arrival. It sends nothing back that nodes wait for, so nodes can be
// simulated before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/rocc/messages.h"
#include "core/rocc/model.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

// Counts of lengths of time in buckets that are at most 0.8 % wide.
class LatencyHistogram {
 public:
  LatencyHistogram() : counts_(kBuckets) {}
  void add(SimTime length);
  // The length that the given share of all do not exceed, in s; NaN without any.
  double quantile(double share) const;

 private:
  static constexpr int kBits = 7;  // of the mantissa
  static constexpr size_t kBuckets = size_t{64} << kBits;
  static size_t bucket_of(uint64_t ps);
  static uint64_t least_of(size_t bucket);

  std::vector<uint32_t> counts_;
  uint64_t total_ = 0;
};

class MainQueue {
 public:
  // Counts what happens after `begin` and no later than `end`.
  MainQueue(const MainProcess& kind, StreamName stream, SimTime begin, SimTime end);

  // Messages must be given in the order of their times.
  void receive(const Message& message, std::span<const SimTime> ages);

  SimTime cpu() const { return cpu_; }
  uint64_t received_samples() const { return samples_; }
  uint64_t received_messages() const { return messages_; }
  double mean_latency_s() const;
  double latency_quantile_s(double share) const { return latencies_.quantile(share); }
  // Time requested of its processor and its network by all messages that arrived between begin and
  // end.
  SimTime requested_cpu() const { return requested_cpu_; }
  SimTime requested_network() const { return requested_network_; }

 private:
  SimTime within(SimTime from, SimTime until) const;

  const MainProcess& kind_;
  RandomStream random_;
  SimTime begin_;
  SimTime end_;
  SimTime network_free_, processor_free_;
  SimTime cpu_, requested_cpu_, requested_network_;
  uint64_t samples_ = 0;
  uint64_t messages_ = 0;
  double latency_sum_s_ = 0;
  LatencyHistogram latencies_;
};

}  // namespace sesame::rocc
