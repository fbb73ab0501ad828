#include "core/mpi/objects/pack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_oracle.h"
#include "core/mpi/objects/datatype_query.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

constexpr int kSeeds = 3000;
constexpr Aint kLargest = 200000;

// A typed buffer with memory on both sides of its address.
class Buffer {
 public:
  Buffer(const std::vector<Aint>& offsets, char fill) {
    Aint low = 0, high = 0;
    for (Aint offset : offsets) {
      low = std::min(low, offset);
      high = std::max(high, offset + 1);
    }
    base_ = -low;
    bytes_.assign(static_cast<size_t>(high - low), fill);
  }
  void number() {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i * 37 + (i >> 8));
  }
  char* address() { return bytes_.data() + base_; }
  char& operator[](Aint offset) { return bytes_[static_cast<size_t>(base_ + offset)]; }
  bool operator==(const Buffer& other) const { return bytes_ == other.bytes_; }

 private:
  Aint base_;
  std::vector<char> bytes_;
};

struct Case {
  DatatypeTable table;
  RandomTypes random;
  ModelType model;
  const DatatypeObject* type;
  Count count;
  std::vector<Aint> offsets;

  explicit Case(uint64_t seed) : random(table, seed) {
    model = random.make(random.between(1, 4));
    type = table.find(model.handle);
    count = random.between(0, 5);
    offsets = model.bytes(count);
  }
  bool is_too_large() const {
    for (Aint offset : offsets) {
      if (offset < -kLargest || offset > kLargest) return true;
    }
    return offsets.size() > kLargest;
  }
  std::vector<char> packed_by_hand(Buffer& buffer) const {
    std::vector<char> packed;
    for (Aint offset : offsets) packed.push_back(buffer[offset]);
    return packed;
  }
};

TEST(Pack, SizeAndBoundsAreThoseOfTheWrittenOutTypeMap) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    ASSERT_EQ(c.type->size(), c.model.size());
    ASSERT_EQ(c.type->bounds().element_count, static_cast<Count>(c.model.map.size()));
    ASSERT_EQ(c.type->lb(), c.model.lb);
    ASSERT_EQ(c.type->extent(), c.model.extent());
    Aint low = INT64_MAX, high = INT64_MIN;
    for (const MapEntry& entry : c.model.map) {
      low = std::min(low, entry.offset);
      high = std::max<Aint>(high, entry.offset + entry.size);
    }
    if (c.model.map.empty()) low = high = 0;
    ASSERT_EQ(c.type->true_lb(), low);
    ASSERT_EQ(c.type->true_extent(), high - low);
  }
}

TEST(Pack, PacksInTypeMapOrder) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (c.is_too_large()) continue;
    Buffer buffer(c.offsets, 0);
    buffer.number();
    std::vector<char> packed(c.offsets.size());
    pack_all(buffer.address(), c.count, *c.type, packed.data());
    ASSERT_EQ(packed, c.packed_by_hand(buffer));
  }
}

TEST(Pack, PacksAnyRangeOfThePackedBytes) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (c.is_too_large() || c.offsets.empty()) continue;
    Buffer buffer(c.offsets, 0);
    buffer.number();
    const std::vector<char> expected = c.packed_by_hand(buffer);
    const int size = static_cast<int>(expected.size());
    for (int i = 0; i < 5; ++i) {
      const int start = c.random.between(0, size), length = c.random.between(0, size - start);
      std::vector<char> packed(static_cast<size_t>(length) + 1, 'x');
      pack_range(buffer.address(), c.count, *c.type, packed.data(), start, length);
      ASSERT_EQ(std::string(packed.data(), packed.size()),
                std::string(expected.data() + start, static_cast<size_t>(length)) + 'x');
    }
  }
}

TEST(Pack, UnpacksSegmentsInOrderToWhatTheTypeMapSays) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (c.is_too_large()) continue;
    Buffer expected(c.offsets, 'x'), buffer(c.offsets, 'x');
    std::vector<char> packed(c.offsets.size());
    for (size_t i = 0; i < packed.size(); ++i) {
      packed[i] = static_cast<char>(i * 41 + (i >> 8));
      expected[c.offsets[i]] = packed[i];
    }
    const Count total = static_cast<Count>(packed.size()), segment = c.random.between(1, 100);
    for (Count start = 0; start < total; start += segment) {
      unpack_range(packed.data() + start, buffer.address(), c.count, *c.type, start,
                   std::min(segment, total - start));
    }
    ASSERT_TRUE(buffer == expected);
  }
}

TEST(Pack, CopiesBetweenTypesAsThroughPackedBytes) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case from(seed), to(seed + kSeeds);
    if (from.is_too_large() || to.is_too_large()) continue;
    Buffer source(from.offsets, 0), target(to.offsets, 'x'), expected(to.offsets, 'x');
    source.number();
    const size_t total = std::min(from.offsets.size(), to.offsets.size());
    for (size_t i = 0; i < total; ++i) expected[to.offsets[i]] = source[from.offsets[i]];
    const Count copied =
        copy_typed(source.address(), from.count, *from.type, target.address(), to.count, *to.type);
    ASSERT_EQ(copied, static_cast<Count>(total));
    ASSERT_TRUE(target == expected);
  }
}

TEST(Pack, CopiesLongMessagesThroughBoundedStaging) {
  DatatypeTable table;
  Datatype odd, triple;
  type_vector(table, 50000, 1, 2, MPI_INT, &odd);
  type_create_hvector(table, 40000, 3, 20, MPI_SHORT, &triple);
  std::vector<int> source(100000);
  std::vector<char> target(800000, 0), expected(800000, 0);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int>(i * 2654435761u);
  for (size_t i = 0; i < 200000; ++i) {
    const char byte = reinterpret_cast<char*>(source.data())[i / 4 * 8 + i % 4];
    expected[i / 6 * 20 + i % 6] = byte;
  }
  EXPECT_EQ(copy_typed(source.data(), 1, *table.find(odd), target.data(), 1, *table.find(triple)),
            200000);
  EXPECT_EQ(target, expected);
}

TEST(Pack, TakesAbsoluteAddressesFromBottom) {
  DatatypeTable table;
  double first[4] = {1, 2, 3, 4};
  int second[2] = {5, 6};
  const int lengths[] = {4, 2};
  const Aint places[] = {reinterpret_cast<Aint>(first), reinterpret_cast<Aint>(second)};
  const Datatype types[] = {MPI_DOUBLE, MPI_INT};
  Datatype type;
  ASSERT_EQ(type_create_struct(table, 2, lengths, places, types, &type), MPI_SUCCESS);
  char packed[40];
  pack_all(MPI_BOTTOM, 1, *table.find(type), packed);
  EXPECT_EQ(std::memcmp(packed, first, 32), 0);
  EXPECT_EQ(std::memcmp(packed + 32, second, 8), 0);
  std::memset(packed, 0, sizeof packed);
  unpack_all(packed, MPI_BOTTOM, 1, *table.find(type));
  EXPECT_EQ(first[3], 0);
  EXPECT_EQ(second[1], 0);
}

TEST(ByteRangeCursor, YieldsJoinedRangesOfTheTypeMap) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (c.is_too_large()) continue;
    const Count total = static_cast<Count>(c.offsets.size());
    ByteRangeCursor cursor(*c.type, c.count);
    const Count start = total == 0 ? 0 : c.random.between(0, static_cast<int>(total) - 1);
    const Count limit = c.random.between(0, 1) == 1 ? c.random.between(1, 50) : INT64_MAX;
    if (start > 0) cursor.seek(start);
    Count at = start;
    for (ByteRange range; cursor.next(&range, limit);) {
      ASSERT_GT(range.length, 0);
      ASSERT_LE(range.length, limit);
      for (Count i = 0; i < range.length; ++i) {
        ASSERT_LT(at, total);
        ASSERT_EQ(range.offset + i, c.offsets[static_cast<size_t>(at++)]);
      }
      if (at < total && range.length < limit) {
        ASSERT_NE(range.offset + range.length, c.offsets[static_cast<size_t>(at)]);
      }
    }
    ASSERT_EQ(at, total);
  }
}

TEST(GetElements, CountsTheBasicElementsOfCutTypes) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Case c(seed);
    if (c.model.map.empty() || c.is_too_large()) continue;
    const Count bytes = c.random.between(0, static_cast<int>(3 * c.model.size()));
    Count left = bytes, elements = 0;
    while (left > 0) {
      const Count size = c.model.map[static_cast<size_t>(elements) % c.model.map.size()].size;
      if (size > left) break;
      left -= size;
      ++elements;
    }
    ASSERT_EQ(elements_in_bytes(*c.type, bytes), left == 0 ? elements : MPI_UNDEFINED);
    ASSERT_EQ(bytes_of_elements(*c.type, elements), bytes - left);
  }
}

TEST(Pack, MpiPackAppendsAtThePositionAndRefusesWhatDoesNotFit) {
  DatatypeTable table;
  const int values[] = {1, 2, 3};
  char packed[16];
  Count position = 4, size = 0;
  EXPECT_EQ(pack(table, values, 3, MPI_INT, packed, 16, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 16);
  EXPECT_EQ(pack(table, values, 1, MPI_INT, packed, 16, &position), MPI_ERR_ARG);
  EXPECT_EQ(position, 16);
  int back[3] = {};
  position = 4;
  EXPECT_EQ(unpack(table, packed, 16, &position, back, 3, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(back[2], 3);
  EXPECT_EQ(unpack(table, packed, 16, &position, back, 1, MPI_INT), MPI_ERR_ARG);
  EXPECT_EQ(pack_size(table, 3, MPI_DOUBLE_INT, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 36);
  EXPECT_EQ(pack_size(table, -1, MPI_INT, &size), MPI_ERR_COUNT);
  Datatype uncommitted;
  type_contiguous(table, 2, MPI_INT, &uncommitted);
  EXPECT_EQ(pack(table, values, 1, uncommitted, packed, 16, &position), MPI_ERR_TYPE);
}

}  // namespace
}  // namespace sesame::mpi
