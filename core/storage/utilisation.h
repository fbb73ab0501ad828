// How busy something was over time, in at most 256 equal slices of simulated time. When the run
// outgrows them, neighbours are joined and slices are twice as long.
#pragma once

#include <vector>

#include "core/base/units.h"

namespace sesame::storage {

class Utilisation {
 public:
  // Busy from begin to end; calls need not come in order of time.
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
