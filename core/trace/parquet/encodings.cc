#include "core/trace/parquet/encodings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/trace/parquet/compact_writer.h"

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

}  // namespace

uint8_t* write_delta_header(uint64_t count, int64_t first, uint8_t* out) {
  out = write_varint(kBlock, out);
  out = write_varint(kMiniblocks, out);
  out = write_varint(count, out);
  return write_varint(zigzag(first), out);
}

template <typename T>
uint8_t* write_delta_blocks(const T* values, size_t count, T before, uint8_t* out) {
  using U = std::make_unsigned_t<T>;
  std::array<U, kBlock> deltas;
  U last = static_cast<U>(before);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t here = std::min(kBlock, count - begin);
    T smallest = static_cast<T>(static_cast<U>(values[begin]) - last);
    T largest = smallest;
    for (size_t i = 0; i < here; ++i) {
      const U value = static_cast<U>(values[begin + i]);
      const T delta = static_cast<T>(value - last);
      last = value;
      deltas[i] = static_cast<U>(delta);
      smallest = std::min(smallest, delta);
      largest = std::max(largest, delta);
    }
    out = write_varint(zigzag(smallest), out);
    uint8_t* widths = out;
    std::memset(widths, 0, kMiniblocks);
    out += kMiniblocks;
    if (smallest == largest) continue;
    std::fill(deltas.begin() + here, deltas.end(), static_cast<U>(smallest));
    for (size_t mini = 0; mini * kMiniblock < here; ++mini) {
      U* part = &deltas[mini * kMiniblock];
      U bits = 0;
      for (size_t i = 0; i < kMiniblock; ++i) bits |= part[i] -= static_cast<U>(smallest);
      const int width = std::bit_width(bits);
      widths[mini] = static_cast<uint8_t>(width);
      kPacks<U>[static_cast<size_t>(width)](part, out);
      out += 4 * width;
    }
  }
  return out;
}

template uint8_t* write_delta_blocks(const int32_t*, size_t, int32_t, uint8_t*);
template uint8_t* write_delta_blocks(const int64_t*, size_t, int64_t, uint8_t*);

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
