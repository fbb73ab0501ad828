// SimTime in a simulator for sensitivities: a dual number. The time is the same as in the ordinary
// simulator; beside it stands its derivative with respect to the logarithm of each Parameter, and
// the path of steps that led to it. docs/models/sensitivity.md has the definitions.
//
// A duration that one parameter causes is attributed to it by due_to(). Sums add the derivatives; a
// maximum has those of the later operand. So a derivative is the number of seconds on the longest
// path to the time that the parameter causes. later() also keeps how near the earlier operand was:
// how far each parameter may change, as far as the maxima on the path tell, until another path is
// the longest.
//
// Most durations have one parameter and are plain values. Others share an Attribution, which is
// counted and changed in place by its only owner. All times belong to one thread.
//
// Use: include sim_time.h.
#pragma once

#include <array>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/parameter.h"
#include "core/base/path_place.h"
#include "core/base/pool.h"

namespace sesame {

// A step of a path: where the time since the end of the step before was spent. Shared by all paths
// that begin with it.
struct PathStep : Pooled<PathStep> {
  const PathStep* previous = nullptr;
  int64_t until_ps = 0;
  const void* caller = nullptr;
  mutable uint32_t references = 0;
  uint32_t rank = 0;
  uint32_t depth = 0;  // how many steps are before it
  uint16_t call = 0;
  PathKind kind = PathKind::kComputation;
};

// The derivatives and the path of a time.
class alignas(16) Attribution {
 public:
  struct Share {
    double ps = 0;  // the derivative
    // How far the parameter may grow and fall, relative to its value, is 1 / rise and 1 / fall; 0
    // is without limit.
    float rise = 0;
    float fall = 0;
  };

  // Paths keep all of their first `steps` steps; later ones are samples (SimTime::pass). Given
  // before the run, since paths of many ranks need much memory.
  static void keep_steps(uint32_t steps);

  Share share_of(Parameter parameter) const;
  const PathStep* last_step() const { return step_; }

 private:
  friend class SimTime;
  // The shares of some slots, those without one zero. Loops over a group have no conditions, so
  // that the compiler makes them vector instructions.
  static constexpr size_t kGroupSlots = 8;
  using Shares = std::array<double, kGroupSlots>;  // ps
  struct alignas(16) Group {
    Shares ps{};
    std::array<float, kGroupSlots> rise{};
    std::array<float, kGroupSlots> fall{};
  };
  static inline uint16_t used_slots = 0;

  // Owned by one time, with space for all slots.
  bool can_change() const { return references_ == 1 && (groups_ > 1 || used_slots <= kGroupSlots); }
  static uint16_t find_slot(uint8_t parameter);
  [[gnu::noinline, gnu::cold]] static uint16_t make_slot(uint8_t parameter);
  // Whether all derivatives are the same. May say no if they are and one has space for more.
  bool agrees_with(const Attribution& other) const;
  static Attribution* make();  // without values in its groups
  static Attribution* make_zero();
  static void free(Attribution* attribution);
  Attribution* copy() const;
  // Few parameters cause time in any one run: those that do have slots, in the order of their first
  // use. The groups of slots follow the object.
  Group& group(size_t number) { return reinterpret_cast<Group*>(this + 1)[number]; }
  const Group& group(size_t number) const {
    return reinterpret_cast<const Group*>(this + 1)[number];
  }
  void add_to(uint16_t slot, double ps) { group(slot / kGroupSlots).ps[slot % kGroupSlots] += ps; }
  static void narrow(Group& winner, const Shares& rival, double inverse_margin);
  void set_step(const PathStep* step);

  uint32_t references_ = 1;
  uint16_t groups_ = 0;
  bool has_departed_ = false;  // the time since the last step is on the way to another rank
  const PathStep* step_ = nullptr;
  int64_t until_ps_ = 0;  // of the step: each call of the program compares it
};

class SimTime {
 public:
  constexpr SimTime() = default;
  constexpr SimTime(const SimTime& other) : ps_(other.ps_), origin_(other.origin_) {
    if (is_shared()) ++attribution()->references_;
  }
  constexpr SimTime(SimTime&& other) noexcept
      : ps_(other.ps_), origin_(std::exchange(other.origin_, 0)) {}
  constexpr SimTime& operator=(const SimTime& other) {
    if (other.is_shared()) ++other.attribution()->references_;
    release();
    ps_ = other.ps_;
    origin_ = other.origin_;
    return *this;
  }
  constexpr SimTime& operator=(SimTime&& other) noexcept {
    std::swap(origin_, other.origin_);
    ps_ = other.ps_;
    return *this;
  }
  constexpr ~SimTime() { release(); }

  static constexpr SimTime from_ps(int64_t ps) { return SimTime(ps, 0); }
  static constexpr SimTime from_ns(int64_t ns) { return SimTime(ns * 1000, 0); }
  static SimTime from_seconds(double s) { return SimTime(std::llround(s * 1e12), 0); }
  static constexpr SimTime zero() { return SimTime(0, 0); }
  static constexpr SimTime never() { return SimTime(std::numeric_limits<int64_t>::max(), 0); }

  constexpr int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }

  constexpr auto operator<=>(const SimTime& other) const { return ps_ <=> other.ps_; }
  constexpr bool operator==(const SimTime& other) const { return ps_ == other.ps_; }
  friend SimTime operator+(SimTime a, const SimTime& b) { return std::move(a += b); }
  friend SimTime operator-(SimTime a, const SimTime& b) { return std::move(a -= b); }
  friend SimTime operator*(SimTime a, int64_t factor) {
    a.scale_to(a.ps_ * factor, static_cast<double>(factor));
    return a;
  }
  friend SimTime operator/(SimTime a, int64_t divisor) {
    a.scale_to(a.ps_ / divisor, 1 / static_cast<double>(divisor));
    return a;
  }
  SimTime& operator+=(const SimTime& other) {
    int64_t sum;
    if (__builtin_add_overflow(ps_, other.ps_, &sum)) [[unlikely]]
      end_of_time();
    if (other.is_shared() || (other.ps_ != 0 && other.origin_ != origin_)) add(other, 1);
    ps_ = sum;
    return *this;
  }
  SimTime& operator-=(const SimTime& other) {
    if (other.is_shared() || (other.ps_ != 0 && other.origin_ != origin_)) add(other, -1);
    ps_ -= other.ps_;
    return *this;
  }

  // This duration with all of its time due to the parameter.
  SimTime due_to(Parameter parameter) const { return SimTime(ps_, parameter.number()); }

  // The end of a step of the path: the time since the end of the one before was spent here. A path
  // with many steps keeps only those at whose end a certain time has passed since the last one that
  // it keeps. Each then stands for the whole of that time, in proportion to how long it lasts: the
  // totals by rank or call of a long path are those of a sample.
  void pass(const PathPlace& place) {
    if (is_shared() && attribution()->until_ps_ == ps_ && !attribution()->has_departed_) return;
    add_step(place);
  }
  // The same; what follows is on the way, to a rank that will arrive().
  void depart(const PathPlace& place);
  // Ends the way since depart(), if there was one.
  void arrive(const PathPlace& place) {
    if (is_shared() && attribution()->has_departed_) add_step(place);
  }

  // Null for durations of one parameter, see parameter().
  const Attribution* shared() const { return is_shared() ? attribution() : nullptr; }
  uint8_t parameter() const { return static_cast<uint8_t>(origin_); }

  friend SimTime later(SimTime a, SimTime b);

 private:
  [[noreturn, gnu::cold]] static void end_of_time();
  constexpr SimTime(int64_t ps, uintptr_t origin) : ps_(ps), origin_(origin) {}
  constexpr bool is_shared() const { return origin_ > UINT8_MAX; }
  Attribution* attribution() const { return reinterpret_cast<Attribution*>(origin_); }
  constexpr void release() {
    if (is_shared() && --attribution()->references_ == 0) Attribution::free(attribution());
  }
  // The attribution, owned by this time alone. Makes one for a time of a single parameter.
  Attribution& own() {
    if (!is_shared() || !attribution()->can_change()) make_own();
    return *attribution();
  }
  void make_own();
  void add(const SimTime& other, double sign);
  void scale_to(int64_t ps, double factor);
  void add_rival(const SimTime& rival);
  void add_step(const PathPlace& place);
  bool precedes_equal(const SimTime& other) const;

  int64_t ps_ = 0;
  uintptr_t origin_ = 0;  // the number of a parameter, or the address of an Attribution
};

// The later time. Of equal ones that with the larger derivatives, whatever the order of arguments:
// results do not depend on the order in which the simulator runs the ranks.
inline SimTime later(SimTime a, SimTime b) {
  if (a.origin_ == b.origin_) return a.ps_ < b.ps_ ? b : a;
  if (a.ps_ < b.ps_ || (a.ps_ == b.ps_ && a.precedes_equal(b))) std::swap(a, b);
  a.add_rival(b);
  return a;
}

constexpr SimTime plain(const SimTime& time) { return SimTime::from_ps(time.ps()); }

}  // namespace sesame
