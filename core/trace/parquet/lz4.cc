#include "core/trace/parquet/lz4.h"

#include <bit>
#include <cstring>

namespace sesame::trace::parquet {
namespace {

constexpr size_t kShortest = 4;        // of matches
constexpr size_t kFarthest = 65535;    // a match is at most so far back
constexpr size_t kLastLiterals = 5;    // the format's end: no match reaches further,
constexpr size_t kLastMatchFrom = 12;  // or begins nearer to it
constexpr int kSkipAfter = 6;          // 64 places without a match: look at every second, and so on

uint32_t four_bytes(const uint8_t* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t eight_bytes(const uint8_t* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// How many bytes are equal, up to `end`.
size_t common_length(const uint8_t* a, const uint8_t* b, const uint8_t* end) {
  const uint8_t* const begin = a;
  for (; a + 8 <= end; a += 8, b += 8) {
    if (const uint64_t differ = eight_bytes(a) ^ eight_bytes(b); differ != 0) {
      return static_cast<size_t>(a - begin) + static_cast<size_t>(std::countr_zero(differ)) / 8;
    }
  }
  while (a < end && *a == *b) ++a, ++b;
  return static_cast<size_t>(a - begin);
}

// What does not fit the token's four bits.
uint8_t* write_length(size_t length, uint8_t* out) {
  for (; length >= 255; length -= 255) *out++ = 255;
  *out++ = static_cast<uint8_t>(length);
  return out;
}

uint8_t* write_literals(const uint8_t* from, size_t count, uint8_t match_bits, uint8_t* out) {
  *out++ = static_cast<uint8_t>((count < 15 ? count : 15) << 4 | match_bits);
  if (count >= 15) out = write_length(count - 15, out);
  std::memcpy(out, from, count);
  return out + count;
}

uint8_t* write_match(const uint8_t* literals, size_t count, size_t distance, size_t length,
                     uint8_t* out) {
  const size_t more = length - kShortest;
  out = write_literals(literals, count, static_cast<uint8_t>(more < 15 ? more : 15), out);
  *out++ = static_cast<uint8_t>(distance);
  *out++ = static_cast<uint8_t>(distance >> 8);
  return more < 15 ? out : write_length(more - 15, out);
}

}  // namespace

size_t Lz4::compress(const uint8_t* in, size_t size, uint8_t* out) {
  const auto hash = [](const uint8_t* at) {
    return four_bytes(at) * 2654435761u >> (32 - kHashBits);
  };
  uint8_t* const begin = out;
  const uint8_t* const end = in + size;
  const uint8_t* literals = in;
  size_t misses = 0;
  for (size_t here = 0; here + kLastMatchFrom < size;) {
    const uint8_t* const at = in + here;
    uint64_t& place = places_[hash(at)];
    const uint64_t before = place;
    place = base_ + here;
    const size_t distance = before < base_ ? kFarthest + 1 : base_ + here - before;
    if (distance > kFarthest || four_bytes(at - distance) != four_bytes(at)) {
      here += 1 + (misses++ >> kSkipAfter);
      continue;
    }
    const size_t length =
        kShortest + common_length(at + kShortest, at - distance + kShortest, end - kLastLiterals);
    out = write_match(literals, static_cast<size_t>(at - literals), distance, length, out);
    here += length;
    literals = in + here;
    misses = 0;
  }
  base_ += size;
  out = write_literals(literals, static_cast<size_t>(end - literals), 0, out);
  return static_cast<size_t>(out - begin);
}

}  // namespace sesame::trace::parquet
