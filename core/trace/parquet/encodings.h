// The encodings of Parquet that the tables use (Parquet's Encodings.md). Each function writes at
// `out`, which must have space for the matching bound plus 8 bytes, and returns the end of the
// bytes written.
//
// Differences and indices can be written in several chunks, which are concatenated. Every chunk but
// the last must have a multiple of kBlock numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sesame::trace::parquet {

constexpr size_t kBlock = 128;

// DELTA_BINARY_PACKED: a header, then blocks of differences to the previous number, modulo 2^32 or
// 2^64.
constexpr size_t kDeltaHeaderBound = 32;
uint8_t* write_delta_header(uint64_t count, int64_t first, uint8_t* out);

constexpr size_t delta_blocks_bound(size_t count) {
  return (count + kBlock - 1) / kBlock * (10 + 4 + 8 * kBlock);
}
// Numbers that follow `before`. T: int32_t or int64_t.
template <typename T>
uint8_t* write_delta_blocks(const T* values, size_t count, T before, uint8_t* out);
// The same for `count` numbers that all are `value`, without reading them.
template <typename T>
uint8_t* write_equal_blocks(T value, size_t count, T before, uint8_t* out);

// Indices into a dictionary (RLE): one run if all are equal, else bit-packed. The caller writes the
// byte with the width, which precedes all chunks. 0 < width <= 32.
constexpr size_t indices_bound(size_t count, int width) {
  return 10 + (count + 31) / 32 * 4 * static_cast<size_t>(width);
}
uint8_t* write_indices(const uint32_t* values, size_t count, int width, uint8_t* out);

// The smallest and the largest of `count` > 0 numbers.
template <typename T>
struct Extremes {
  T least;
  T most;
};
Extremes<int64_t> extremes_of(const int64_t* values, size_t count);
Extremes<int32_t> extremes_of(const int32_t* values, size_t count);

// An RLE run of one number.
uint8_t* write_run(uint64_t count, uint32_t value, int width, uint8_t* out);

}  // namespace sesame::trace::parquet
