// How long the bytes of a message take at a rate. One thread or many.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/units.h"

namespace sesame::network {

// Rounded to whole picoseconds. Very large messages at very low rates take at most 46 days, so that
// sums fit 64 bits.
inline SimTime transfer_time(uint64_t bytes, double ps_per_byte) {
  constexpr double kLongestPs = 4e18;
  const double exact_ps = static_cast<double>(static_cast<int64_t>(bytes)) * ps_per_byte;
  return SimTime::from_ps(static_cast<int64_t>(std::min(exact_ps, kLongestPs) + 0.5));
}

}  // namespace sesame::network
