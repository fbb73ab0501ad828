// Utilisation: the busy time of something in at most 256 (or as many as said) equal slices of
// simulated time. When a run gets longer than the slices, pairs of them are merged and the slice
// length doubles.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace sesame {

class Utilisation {
 public:
  Utilisation() = default;
  explicit Utilisation(size_t slices) : most_(slices) {}

  // It was busy from `begin` to `end`. Calls need not be in the order of time.
  void add(SimTime begin, SimTime end);
  // What another one with as many slices at most has found so far.
  void restore(SimTime slice, std::vector<SimTime> busy) {
    slice_ = slice;
    busy_ = std::move(busy);
  }
  SimTime slice() const { return slice_; }
  const std::vector<SimTime>& busy() const { return busy_; }

 private:
  size_t slice_of(SimTime time) const { return static_cast<size_t>(time.ps() / slice_.ps()); }
  void double_slices();

  size_t most_ = 256;
  SimTime slice_ = SimTime::from_ns(1000);
  std::vector<SimTime> busy_;
};

}  // namespace sesame
