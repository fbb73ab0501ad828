// Utilisation: the busy time of a device in at most 256 equal slices of simulated time. When a run
// gets longer than the slices, pairs of them are merged and the slice length doubles.
#pragma once

#include <vector>

#include "core/base/units.h"

namespace sesame::storage {

class Utilisation {
 public:
  // The device was busy from `begin` to `end`. Calls need not be in the order of time.
  void add(SimTime begin, SimTime end);
  SimTime slice() const { return slice_; }
  const std::vector<SimTime>& busy() const { return busy_; }

 private:
  static constexpr size_t kSlices = 256;
  size_t slice_of(SimTime time) const { return static_cast<size_t>(time.ps() / slice_.ps()); }
  void double_slices();

  SimTime slice_ = SimTime::from_ns(1000);
  std::vector<SimTime> busy_;
};

}  // namespace sesame::storage
