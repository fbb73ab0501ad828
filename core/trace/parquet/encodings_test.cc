// The encodings against the examples of Parquet's specification (Encodings.md), and against a
// decoder that reads bit by bit.
#include "core/trace/parquet/encodings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace sesame::trace::parquet {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes encode_delta(const std::vector<T>& values) {
  Bytes bytes(kDeltaHeaderBound + delta_blocks_bound(values.size()) + 8);
  uint8_t* end = write_delta_header(values.size(), values.front(), bytes.data());
  end = write_delta_blocks(values.data() + 1, values.size() - 1, values.front(), end);
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

template <typename T>
Bytes encode_equal(T value, size_t count, T before) {
  Bytes bytes(delta_blocks_bound(count) + 8);
  const uint8_t* end = write_equal_blocks(value, count, before, bytes.data());
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

Bytes encode_indices(const std::vector<uint32_t>& values, int width) {
  Bytes bytes(indices_bound(values.size(), width) + 8);
  const uint8_t* end = write_indices(values.data(), values.size(), width, bytes.data());
  bytes.resize(static_cast<size_t>(end - bytes.data()));
  return bytes;
}

class Decoder {
 public:
  explicit Decoder(const Bytes& bytes) : bytes_(bytes) {}

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = bytes_.at(at_++);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  int64_t zigzag() {
    const uint64_t value = varint();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  // Numbers of `width` bits, lowest bits first.
  std::vector<uint64_t> packed(size_t count, int width) {
    std::vector<uint64_t> values(count);
    size_t bit = 0;
    for (uint64_t& value : values) {
      for (int i = 0; i < width; ++i, ++bit) {
        value |= uint64_t{bytes_.at(at_ + bit / 8) >> (bit % 8) & 1u} << i;
      }
    }
    at_ += (bit + 7) / 8;
    return values;
  }
  uint8_t byte() { return bytes_.at(at_++); }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const Bytes& bytes_;
  size_t at_ = 0;
};

template <typename T>
std::vector<T> decode_delta(const Bytes& bytes) {
  using U = std::make_unsigned_t<T>;
  Decoder decoder(bytes);
  EXPECT_EQ(decoder.varint(), 128u);
  EXPECT_EQ(decoder.varint(), 4u);
  const uint64_t count = decoder.varint();
  std::vector<T> values{static_cast<T>(decoder.zigzag())};
  while (values.size() < count) {
    const auto smallest = static_cast<U>(decoder.zigzag());
    Bytes widths;
    for (int i = 0; i < 4; ++i) widths.push_back(decoder.byte());
    for (const uint8_t width : widths) {
      if (values.size() == count) break;
      for (const uint64_t difference : decoder.packed(32, width)) {
        if (values.size() == count) break;
        values.push_back(
            static_cast<T>(static_cast<U>(values.back()) + smallest + static_cast<U>(difference)));
      }
    }
  }
  EXPECT_TRUE(decoder.at_end());
  return values;
}

TEST(Encodings, DeltaOfEqualDifferencesIsTheSpecificationsExample) {
  // The specification has blocks of 8 numbers; ours of 128 in 4 miniblocks.
  EXPECT_EQ(encode_delta<int32_t>({1, 2, 3, 4, 5}),
            (Bytes{0x80, 0x01, 4, 5, 2, /* smallest difference */ 2, /* widths */ 0, 0, 0, 0}));
}

TEST(Encodings, DeltaOfFallingNumbersIsTheSpecificationsExample) {
  EXPECT_EQ(encode_delta<int64_t>({7, 5, 3, 1, 2, 3, 4, 5}),
            (Bytes{0x80, 0x01, 4, 8, 14, /* -2 */ 3, /* widths */ 2, 0, 0, 0,
                   /* 0 0 0 3 3 3 3 */ 0xC0, 0x3F, 0, 0, 0, 0, 0, 0}));
}

TEST(Encodings, BitPackingIsTheSpecificationsExample) {
  EXPECT_EQ(encode_indices({0, 1, 2, 3, 4, 5, 6, 7}, 3), (Bytes{3, 0x88, 0xC6, 0xFA}));
}

TEST(Encodings, EqualIndicesAreOneRun) {
  EXPECT_EQ(encode_indices(std::vector<uint32_t>(100, 5), 9), (Bytes{0xC8, 0x01, 5, 0}));
}

template <typename T>
void expect_delta_round_trip(std::mt19937_64& random, int bits, size_t count) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(bits == 0 ? 7 : random() >> (64 - bits)));
  }
  EXPECT_EQ(decode_delta<T>(encode_delta(values)), values) << bits << " bits, " << count;
}

TEST(Encodings, DeltaKeepsNumbersOfEveryWidthAndCount) {
  std::mt19937_64 random(20261123);
  for (int bits = 0; bits <= 64; ++bits) {
    for (const size_t count : {1, 2, 32, 33, 128, 129, 130, 1000}) {
      expect_delta_round_trip<int64_t>(random, bits, count);
      if (bits <= 32) expect_delta_round_trip<int32_t>(random, bits, count);
    }
  }
}

TEST(Encodings, DeltaKeepsTheExtremes) {
  using Limits = std::numeric_limits<int64_t>;
  const std::vector<int64_t> values{Limits::min(), Limits::max(), 0, Limits::max(), Limits::min()};
  EXPECT_EQ(decode_delta<int64_t>(encode_delta(values)), values);
}

TEST(Encodings, DeltaBlocksWrittenInChunksAreThoseWrittenAtOnce) {
  std::mt19937_64 random(1);
  std::vector<int64_t> values;
  for (size_t i = 0; i < 10 * kBlock + 50; ++i) values.push_back(static_cast<int64_t>(random()));
  Bytes whole(delta_blocks_bound(values.size()) + 8), chunks(whole.size());
  const uint8_t* const whole_end =
      write_delta_blocks(values.data(), values.size(), {}, whole.data());
  uint8_t* out = chunks.data();
  int64_t before = 0;
  for (size_t at = 0; at < values.size(); at += 2 * kBlock) {
    const size_t count = std::min(2 * kBlock, values.size() - at);
    out = write_delta_blocks(&values[at], count, before, out);
    before = values[at + count - 1];
  }
  whole.resize(static_cast<size_t>(whole_end - whole.data()));
  chunks.resize(static_cast<size_t>(out - chunks.data()));
  EXPECT_EQ(chunks, whole);
}

template <typename T>
void expect_equal_blocks_are_delta_blocks(T value, size_t count, T before) {
  const std::vector<T> values(count, value);
  Bytes expected(delta_blocks_bound(count) + 8);
  const uint8_t* end = write_delta_blocks(values.data(), count, before, expected.data());
  expected.resize(static_cast<size_t>(end - expected.data()));
  EXPECT_EQ(encode_equal(value, count, before), expected) << count;
}

TEST(Encodings, EqualBlocksAreThoseOfTheNumbers) {
  for (const size_t count : {0, 1, 127, 128, 129, 256, 300}) {
    expect_equal_blocks_are_delta_blocks<int64_t>(-5, count, -5);
    expect_equal_blocks_are_delta_blocks<int64_t>(7, count, std::numeric_limits<int64_t>::min());
    expect_equal_blocks_are_delta_blocks<int32_t>(std::numeric_limits<int32_t>::max(), count, -1);
  }
}

template <typename T>
void expect_extremes(std::mt19937_64& random) {
  for (size_t count = 1; count < 40; ++count) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(random());
    const auto [least, most] = std::ranges::minmax_element(values);
    const Extremes<T> found = extremes_of(values.data(), count);
    EXPECT_EQ(found.least, *least);
    EXPECT_EQ(found.most, *most);
  }
}

TEST(Encodings, ExtremesAreTheSmallestAndTheLargestNumber) {
  std::mt19937_64 random(3);
  expect_extremes<int32_t>(random);
  expect_extremes<int64_t>(random);
}

TEST(Encodings, IndicesOfEveryWidthCanBeReadBack) {
  std::mt19937 random(2);
  for (int width = 1; width <= 32; ++width) {
    for (const size_t count : {1, 7, 8, 9, 31, 32, 33, 300}) {
      std::vector<uint32_t> values{0, 1};
      while (values.size() < count) values.push_back(random() >> (32 - width));
      const Bytes bytes = encode_indices(values, width);
      Decoder reader(bytes);
      const uint64_t header = reader.varint();
      ASSERT_EQ(header & 1, 1u);
      std::vector<uint64_t> found = reader.packed((header >> 1) * 8, width);
      EXPECT_TRUE(reader.at_end());
      ASSERT_GE(found.size(), values.size());
      found.resize(values.size());
      EXPECT_EQ(found, std::vector<uint64_t>(values.begin(), values.end())) << width;
    }
  }
}

}  // namespace
}  // namespace sesame::trace::parquet
