// The random numbers of the NAS Parallel Benchmarks (NPB specification, RNR-94-007, 2.3):
// x' = a x mod 2^46, a = 5^13, and r = x / 2^46 in (0, 1). Exact: 2^46 divides 2^64, so that
// products of unsigned 64-bit integers keep the low 46 bits.
#ifndef WORKLOADS_KIT_RANDOM_H_
#define WORKLOADS_KIT_RANDOM_H_

#include <cstdint>

namespace sesame::workload {

class NpbRandom {
 public:
  static constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 46) - 1;

  explicit NpbRandom(std::uint64_t start, std::uint64_t multiplier = kMultiplier)
      : state_(start), multiplier_(multiplier) {}

  // The next number, in (0, 1).
  double next() {
    state_ *= multiplier_;
    return static_cast<double>(static_cast<std::int64_t>(state_ & kMask)) * 0x1p-46;
  }

  // Skips `count` numbers, in O(log count).
  void skip(std::uint64_t count) { state_ *= power(multiplier_, count); }

  std::uint64_t state() const { return state_ & kMask; }

  // base^exponent mod 2^46.
  static std::uint64_t power(std::uint64_t base, std::uint64_t exponent);

 private:
  std::uint64_t state_;
  std::uint64_t multiplier_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_RANDOM_H_
