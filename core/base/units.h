// Simulated time and the quantities that users write with units. SimTime is a count of
// picoseconds in 64 bits: exact sums, a total order, and 106 days of range.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace sesame {

class SimTime {
 public:
  constexpr SimTime() = default;
  static constexpr SimTime from_ps(int64_t ps) { return SimTime(ps); }
  static constexpr SimTime from_ns(int64_t ns) { return SimTime(ns * 1000); }
  static SimTime from_seconds(double s) { return SimTime(std::llround(s * 1e12)); }
  static constexpr SimTime zero() { return SimTime(0); }
  static constexpr SimTime never() { return SimTime(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }

  constexpr auto operator<=>(const SimTime&) const = default;
  // Ends the process with a message when the sum is out of range: a time that wraps around would
  // give a wrong answer.
  constexpr SimTime operator+(SimTime other) const {
    SimTime sum;
    if (__builtin_add_overflow(ps_, other.ps_, &sum.ps_)) [[unlikely]]
      end_of_time();
    return sum;
  }
  constexpr SimTime operator-(SimTime other) const { return SimTime(ps_ - other.ps_); }
  constexpr SimTime operator*(int64_t factor) const { return SimTime(ps_ * factor); }
  constexpr SimTime& operator+=(SimTime other) { return *this = *this + other; }
  constexpr SimTime& operator-=(SimTime other) {
    ps_ -= other.ps_;
    return *this;
  }

 private:
  [[noreturn, gnu::cold]] static void end_of_time();
  explicit constexpr SimTime(int64_t ps) : ps_(ps) {}
  int64_t ps_ = 0;
};

constexpr SimTime later(SimTime a, SimTime b) { return a < b ? b : a; }

// Parse what a user writes in a machine file or on the command line, with its unit; a size without
// a unit is in bytes. The Error for text that does not fit names the accepted units.
Result<SimTime> parse_duration(std::string_view text);  // "1.5 us", "0s"; s ms us ns ps
Result<uint64_t> parse_size(std::string_view text);     // "64 KiB", "1MB", "0 B", "512"
Result<double> parse_bandwidth(std::string_view text);  // bytes per second: "28 MB/s", "100 Gbit/s"

// For messages: three significant digits with the fitting unit ("1.25 us", "64 KiB").
std::string format_duration(SimTime duration);
std::string format_size(uint64_t bytes);

}  // namespace sesame
