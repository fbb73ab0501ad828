// Compresses in the LZ4 block format (Parquet's codec LZ4_RAW).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sesame::trace::parquet {

class Lz4 {
 public:
  static constexpr size_t bound(size_t size) { return size + size / 255 + 16; }

  // `out` has room for bound(size) bytes. Returns how many were written. size < 2^31.
  size_t compress(const uint8_t* in, size_t size, uint8_t* out);

 private:
  static constexpr int kHashBits = 12;

  // Where four bytes of this hash were last, counted over all inputs: what is of an earlier one is
  // too small a number, and the table needs no clearing.
  std::array<uint64_t, 1 << kHashBits> places_{};
  uint64_t base_ = 1;  // of the input at hand
};

}  // namespace sesame::trace::parquet
