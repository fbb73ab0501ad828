#include "core/trace/parquet/encodings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/trace/parquet/compact_writer.h"

// A version for processors with AVX2 is chosen when the program starts.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define SESAME_VECTORISED [[gnu::target_clones("avx2", "default")]]
#else
#define SESAME_VECTORISED
#endif

namespace sesame::trace::parquet {
namespace {

constexpr size_t kMiniblock = 32;
constexpr size_t kMiniblocks = kBlock / kMiniblock;

uint8_t* write_varint(uint64_t value, uint8_t* out) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<uint8_t>(value | 0x80);
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Packs 32 numbers of kWidth bits each, lowest bits first, into 4 * kWidth bytes. A constant width
// makes all shifts constants, which is three times as fast.
template <typename U, int kWidth>
void pack(const U* values, uint8_t* out) {
  uint64_t word = 0;
  int used = 0;
#pragma GCC unroll 32
  for (size_t i = 0; i < kMiniblock; ++i) {
    const uint64_t value = values[i];
    word |= value << used;
    used += kWidth;
    if (used >= 64) {
      std::memcpy(out, &word, 8);
      out += 8;
      used -= 64;
      word = used == 0 ? 0 : value >> (kWidth - used);
    }
  }
  if (used > 0) std::memcpy(out, &word, 4);
}

template <typename U>
using Pack = void (*)(const U*, uint8_t*);

template <typename U, int... kWidths>
constexpr auto packs_of(std::integer_sequence<int, kWidths...>) {
  return std::array<Pack<U>, sizeof...(kWidths) + 1>{[](const U*, uint8_t*) {},
                                                     &pack<U, kWidths + 1>...};
}

// Indexed by width.
template <typename U>
constexpr auto kPacks = packs_of<U>(std::make_integer_sequence<int, 8 * sizeof(U)>());

// The differences of a block's numbers to their predecessors, as the encoding stores them.
template <typename T>
struct BlockDifferences {
  using U = std::make_unsigned_t<T>;
  std::array<U, kBlock> above;  // how much each is above the smallest
  T smallest;
  std::array<U, kMiniblocks> bits;  // the bits that are set in any of a miniblock
};

// The loops have no branches and no dependence from one number to the next, so that the compiler
// vectorises them. If the block is not full, the rest counts as the smallest difference.
template <typename T>
[[gnu::always_inline]] inline void subtract(const T* values, size_t count, T before,
                                            BlockDifferences<T>& block) {
  using U = std::make_unsigned_t<T>;
  U* const above = block.above.data();
  above[0] = static_cast<U>(values[0]) - static_cast<U>(before);
  for (size_t i = 1; i < count; ++i) {
    above[i] = static_cast<U>(values[i]) - static_cast<U>(values[i - 1]);
  }
  T smallest = static_cast<T>(above[0]);
  for (size_t i = 0; i < count; ++i) {
    const T difference = static_cast<T>(above[i]);
    smallest = difference < smallest ? difference : smallest;
  }
  block.smallest = smallest;
  for (size_t i = count; i < kBlock; ++i) above[i] = static_cast<U>(smallest);
  for (size_t mini = 0; mini < kMiniblocks; ++mini) {
    U bits = 0;
    for (size_t i = mini * kMiniblock; i < (mini + 1) * kMiniblock; ++i) {
      above[i] -= static_cast<U>(smallest);
      bits |= above[i];
    }
    block.bits[mini] = bits;
  }
}

SESAME_VECTORISED void find_differences(const int64_t* values, size_t count, int64_t before,
                                        BlockDifferences<int64_t>& block) {
  subtract(values, count, before, block);
}
SESAME_VECTORISED void find_differences(const int32_t* values, size_t count, int32_t before,
                                        BlockDifferences<int32_t>& block) {
  subtract(values, count, before, block);
}

template <typename T>
[[gnu::always_inline]] inline Extremes<T> find_extremes(const T* values, size_t count) {
  Extremes<T> found{values[0], values[0]};
  for (size_t i = 1; i < count; ++i) {
    found.least = values[i] < found.least ? values[i] : found.least;
    found.most = values[i] > found.most ? values[i] : found.most;
  }
  return found;
}

}  // namespace

SESAME_VECTORISED Extremes<int64_t> extremes_of(const int64_t* values, size_t count) {
  return find_extremes(values, count);
}
SESAME_VECTORISED Extremes<int32_t> extremes_of(const int32_t* values, size_t count) {
  return find_extremes(values, count);
}

uint8_t* write_delta_header(uint64_t count, int64_t first, uint8_t* out) {
  out = write_varint(kBlock, out);
  out = write_varint(kMiniblocks, out);
  out = write_varint(count, out);
  return write_varint(zigzag(first), out);
}

template <typename T>
uint8_t* write_delta_blocks(const T* values, size_t count, T before, uint8_t* out) {
  using U = std::make_unsigned_t<T>;
  BlockDifferences<T> block;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    find_differences(values + begin, std::min(kBlock, count - begin), before, block);
    before = values[std::min(begin + kBlock, count) - 1];
    out = write_varint(zigzag(block.smallest), out);
    uint8_t* widths = out;
    out += kMiniblocks;
    for (size_t mini = 0; mini < kMiniblocks; ++mini) {
      const int width = std::bit_width(block.bits[mini]);
      widths[mini] = static_cast<uint8_t>(width);
      kPacks<U>[static_cast<size_t>(width)](&block.above[mini * kMiniblock], out);
      out += 4 * width;
    }
  }
  return out;
}

template uint8_t* write_delta_blocks(const int32_t*, size_t, int32_t, uint8_t*);
template uint8_t* write_delta_blocks(const int64_t*, size_t, int64_t, uint8_t*);

template <typename T>
uint8_t* write_equal_blocks(T value, size_t count, T before, uint8_t* out) {
  if (value != before && count > 0) {  // only the first number differs from the one before it
    std::array<T, kBlock> values;
    values.fill(value);
    const size_t here = std::min(kBlock, count);
    out = write_delta_blocks(values.data(), here, before, out);
    count -= here;
  }
  // Of each other block the smallest difference and all widths are 0.
  const size_t bytes = (count + kBlock - 1) / kBlock * (1 + kMiniblocks);
  std::memset(out, 0, bytes);
  return out + bytes;
}

template uint8_t* write_equal_blocks(int32_t, size_t, int32_t, uint8_t*);
template uint8_t* write_equal_blocks(int64_t, size_t, int64_t, uint8_t*);

uint8_t* write_run(uint64_t count, uint32_t value, int width, uint8_t* out) {
  out = write_varint(count << 1, out);
  const auto bytes = static_cast<size_t>((width + 7) / 8);
  std::memcpy(out, &value, bytes);
  return out + bytes;
}

uint8_t* write_indices(const uint32_t* values, size_t count, int width, uint8_t* out) {
  if (count == 0) return out;
  if (std::all_of(values, values + count, [&](uint32_t value) { return value == *values; })) {
    return write_run(count, *values, width, out);
  }
  const size_t groups = (count + 7) / 8;
  out = write_varint(groups << 1 | 1, out);
  uint8_t* const end = out + groups * static_cast<size_t>(width);
  for (size_t begin = 0; begin < count; begin += kMiniblock) {
    std::array<uint32_t, kMiniblock> part{};
    std::copy_n(values + begin, std::min(kMiniblock, count - begin), part.begin());
    kPacks<uint32_t>[static_cast<size_t>(width)](part.data(), out);
    out += 4 * width;
  }
  return end;
}

}  // namespace sesame::trace::parquet
