#include "core/rocc/random_stream.h"

namespace sesame::rocc {
namespace {

__extension__ using Product = unsigned __int128;

constexpr uint64_t kMultiplier0 = 0xd2e7470ee14c6c93;
constexpr uint64_t kMultiplier1 = 0xca5a826395121157;
constexpr uint64_t kKeyStep0 = 0x9e3779b97f4a7c15;
constexpr uint64_t kKeyStep1 = 0xbb67ae8584caa73b;
constexpr int kRounds = 10;

}  // namespace

void RandomStream::refill() {
  std::array<uint64_t, 4> x = counter_;
  uint64_t key0 = seed_;
  uint64_t key1 = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Product a = static_cast<Product>(kMultiplier0) * x[0];
    const Product b = static_cast<Product>(kMultiplier1) * x[2];
    x = {static_cast<uint64_t>(b >> 64) ^ x[1] ^ key0, static_cast<uint64_t>(b),
         static_cast<uint64_t>(a >> 64) ^ x[3] ^ key1, static_cast<uint64_t>(a)};
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
  block_ = x;
  ++counter_[0];
  used_ = 0;
}

}  // namespace sesame::rocc
