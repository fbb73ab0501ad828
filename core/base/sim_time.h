// Simulated time: a count of picoseconds in 64 bits, with exact sums, a total order, and 106 days
// of range.
//
// Code is written once for two kinds of simulators. In the ordinary one a SimTime is a number. With
// SESAME_SENSITIVITY it also has its derivatives and the path that led to it (attributed_time.h);
// due_to(), plain(), later(), pass(), depart() and arrive() then do what they say, and the
// numbers are the same.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "core/base/parameter.h"
#include "core/base/path_place.h"

#ifdef SESAME_SENSITIVITY
#include "core/base/attributed_time.h"
#else

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
  constexpr SimTime operator/(int64_t divisor) const { return SimTime(ps_ / divisor); }
  constexpr SimTime& operator+=(SimTime other) { return *this = *this + other; }
  constexpr SimTime& operator-=(SimTime other) {
    ps_ -= other.ps_;
    return *this;
  }

  // This duration, which a parameter causes: it is proportional to it, or inversely if the
  // parameter is a bandwidth.
  constexpr SimTime due_to(Parameter) const { return *this; }
  // The path up to this time: see attributed_time.h.
  constexpr void pass(const PathPlace&) {}
  constexpr void depart(const PathPlace&) {}
  constexpr void arrive(const PathPlace&) {}

 private:
  [[noreturn, gnu::cold]] static void end_of_time();
  explicit constexpr SimTime(int64_t ps) : ps_(ps) {}
  int64_t ps_ = 0;
};

constexpr SimTime later(SimTime a, SimTime b) { return a < b ? b : a; }
// The time without its derivatives, for records, totals and the order of events.
constexpr SimTime plain(SimTime time) { return time; }

}  // namespace sesame

#endif

namespace sesame {

// The time between two times, for totals: without derivatives.
constexpr SimTime elapsed(const SimTime& begin, const SimTime& end) {
  return SimTime::from_ps(end.ps() - begin.ps());
}

}  // namespace sesame
