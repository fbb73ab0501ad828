#include "kit/random.h"

namespace sesame::workload {

std::uint64_t NpbRandom::power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result & kMask;
}

}  // namespace sesame::workload
