// Streams of random numbers by Philox 4x64-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011): numbers are a function of a key and a counter. The counter
// contains what the stream belongs to, so streams cannot overlap, and each source of randomness has
// its own: another setting of the model leaves all other streams as they are (common random
// numbers).
#pragma once

#include <array>
#include <cstdint>

namespace sesame::rocc {

// What a stream belongs to.
struct StreamName {
  uint64_t seed = 0;
  uint32_t replication = 0;
  uint32_t node = 0;
  uint64_t source = 0;  // unique on its node
};

class RandomStream {
 public:
  explicit RandomStream(StreamName name)
      : counter_{0, name.source, name.node, name.replication}, seed_(name.seed) {}

  // The next 64 random bits.
  uint64_t next() {
    if (used_ == block_.size()) refill();
    return block_[used_++];
  }
  // Uniform in (0, 1): never 0 or 1.
  double uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }

 private:
  void refill();

  std::array<uint64_t, 4> counter_;
  std::array<uint64_t, 4> block_{};
  uint64_t seed_;
  size_t used_ = 4;
};

}  // namespace sesame::rocc
