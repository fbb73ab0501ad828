#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_table.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/datatype_query.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

class DatatypeTest : public ::testing::Test {
 protected:
  const DatatypeObject& get(Datatype handle) { return *table_.find(handle); }

  // {(double, 0), (char, 8)}, the type of the standard's examples.
  Datatype double_char() {
    const int lengths[] = {1, 1};
    const Aint places[] = {0, 8};
    const Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    Datatype type;
    EXPECT_EQ(type_create_struct(table_, 2, lengths, places, types, &type), MPI_SUCCESS);
    return type;
  }

  std::vector<Aint> offsets(Datatype handle) {
    std::vector<Aint> found;
    ByteRangeCursor cursor(get(handle), 1);
    for (ByteRange range; cursor.next(&range, 1);) found.push_back(range.offset);
    return found;
  }

  void expect_type(Datatype handle, Count size, Aint lb, Aint extent) {
    EXPECT_EQ(get(handle).size(), size);
    EXPECT_EQ(get(handle).lb(), lb);
    EXPECT_EQ(get(handle).extent(), extent);
  }

  DatatypeTable table_;
  Datatype type_ = MPI_DATATYPE_NULL;
};

TEST_F(DatatypeTest, PredefinedTypesAreFoundByHandleAndNothingElseIs) {
  EXPECT_EQ(get(MPI_DOUBLE).size(), 8);
  EXPECT_EQ(get(MPI_LONG_DOUBLE_INT).size(), 20);
  EXPECT_EQ(get(MPI_LONG_DOUBLE_INT).extent(), 32);
  EXPECT_EQ(get(MPI_SHORT_INT).extent(), 8);
  EXPECT_EQ(get(MPI_2INT).size(), 8);
  EXPECT_TRUE(get(MPI_COMPLEX32).is_contiguous());
  EXPECT_FALSE(get(MPI_DOUBLE_INT).is_contiguous());
  EXPECT_TRUE(get(MPI_INT).is_committed());
  DatatypeTable other;
  EXPECT_EQ(other.find(MPI_INT), table_.find(MPI_INT));
  const unsigned invalid[] = {0,          0x0c000000, 0x4c000000, 0x4c000805, 0x8c000005,
                              0x8c000010, 0xcc000000, 0x44000000, 0xffffffff};
  for (unsigned handle : invalid) EXPECT_EQ(table_.find(static_cast<int>(handle)), nullptr);
}

TEST_F(DatatypeTest, BoundsAreThoseOfTheStandardsExamples) {
  const Datatype old = double_char();
  expect_type(old, 9, 0, 16);
  ASSERT_EQ(type_contiguous(table_, 3, old, &type_), MPI_SUCCESS);
  expect_type(type_, 27, 0, 48);
  ASSERT_EQ(type_vector(table_, 2, 3, 4, old, &type_), MPI_SUCCESS);
  expect_type(type_, 54, 0, 112);
  ASSERT_EQ(type_vector(table_, 3, 1, -2, old, &type_), MPI_SUCCESS);
  expect_type(type_, 27, -64, 80);
  const int lengths[] = {3, 1}, places[] = {4, 0};
  ASSERT_EQ(type_indexed(table_, 2, lengths, places, old, &type_), MPI_SUCCESS);
  expect_type(type_, 36, 0, 112);
  const int blocks[] = {2, 1, 3};
  const Aint bytes[] = {0, 16, 26};
  const Datatype types[] = {MPI_FLOAT, old, MPI_CHAR};
  ASSERT_EQ(type_create_struct(table_, 3, blocks, bytes, types, &type_), MPI_SUCCESS);
  expect_type(type_, 20, 0, 32);
  ASSERT_EQ(type_create_resized(table_, MPI_INT, -3, 9, &type_), MPI_SUCCESS);
  expect_type(type_, 4, -3, 9);
  ASSERT_EQ(type_contiguous(table_, 2, type_, &type_), MPI_SUCCESS);
  expect_type(type_, 8, -3, 18);
  EXPECT_EQ(get(type_).true_lb(), 0);
  EXPECT_EQ(get(type_).true_extent(), 13);
}

TEST_F(DatatypeTest, MarkersOfOldProgramsBoundAStructure) {
  const int lengths[] = {1, 1, 1};
  const Aint places[] = {-3, 0, 6};
  const Datatype types[] = {MPI_LB, MPI_INT, MPI_UB};
  ASSERT_EQ(type_create_struct(table_, 3, lengths, places, types, &type_), MPI_SUCCESS);
  expect_type(type_, 4, -3, 9);
  ASSERT_EQ(type_contiguous(table_, 2, type_, &type_), MPI_SUCCESS);
  expect_type(type_, 8, -3, 18);
}

TEST_F(DatatypeTest, TypesWithoutDataAreEmpty) {
  ASSERT_EQ(type_contiguous(table_, 0, MPI_INT, &type_), MPI_SUCCESS);
  expect_type(type_, 0, 0, 0);
  ASSERT_EQ(type_create_struct(table_, 0, {}, {}, nullptr, &type_), MPI_SUCCESS);
  expect_type(type_, 0, 0, 0);
  EXPECT_TRUE(offsets(type_).empty());
  ASSERT_EQ(type_vector(table_, 5, 0, 3, MPI_INT, &type_), MPI_SUCCESS);
  expect_type(type_, 0, 0, 0);
}

TEST_F(DatatypeTest, ContiguousFormsAreRecognised) {
  ASSERT_EQ(type_vector(table_, 4, 2, 2, MPI_INT, &type_), MPI_SUCCESS);
  EXPECT_TRUE(get(type_).is_contiguous());
  const int places[] = {0, 2, 4};
  ASSERT_EQ(type_create_indexed_block(table_, 3, 2, places, MPI_INT, &type_), MPI_SUCCESS);
  EXPECT_TRUE(get(type_).is_contiguous());
  const int sizes[] = {4, 5}, subsizes[] = {4, 5}, starts[] = {0, 0};
  ASSERT_EQ(type_create_subarray(table_, 2, sizes, subsizes, starts, MPI_ORDER_C, type_, &type_),
            MPI_SUCCESS);
  EXPECT_TRUE(get(type_).is_contiguous());
  ASSERT_EQ(type_create_resized(table_, MPI_INT, 0, 8, &type_), MPI_SUCCESS);
  EXPECT_FALSE(get(type_).is_contiguous());
  const int one[] = {1};
  ASSERT_EQ(type_indexed(table_, 1, one, one, MPI_INT, &type_), MPI_SUCCESS);
  EXPECT_FALSE(get(type_).is_contiguous());
}

TEST_F(DatatypeTest, FreedTypesLiveWhileOthersNeedThemAndTheirHandlesAreReused) {
  ASSERT_EQ(type_vector(table_, 2, 1, 2, MPI_INT, &type_), MPI_SUCCESS);
  const Datatype base = type_;
  Datatype derived;
  ASSERT_EQ(type_contiguous(table_, 2, base, &derived), MPI_SUCCESS);
  DatatypeRef in_flight(table_.find(derived));
  EXPECT_EQ(type_free(table_, &type_), MPI_SUCCESS);
  EXPECT_EQ(type_, MPI_DATATYPE_NULL);
  EXPECT_EQ(table_.live_count(), 1u);
  type_ = base;
  EXPECT_EQ(type_free(table_, &type_), MPI_ERR_TYPE) << "freed twice";
  EXPECT_EQ(type_free(table_, &derived), MPI_SUCCESS);
  EXPECT_EQ(in_flight->size(), 16);
  Datatype fresh;
  type_contiguous(table_, 2, MPI_INT, &fresh);
  EXPECT_NE(fresh, base) << "the handle of a type in use must not be given away";
  in_flight = DatatypeRef();
  EXPECT_EQ(table_.find(base), nullptr);
  type_contiguous(table_, 2, MPI_INT, &derived);
  type_contiguous(table_, 2, MPI_INT, &type_);
  EXPECT_TRUE(type_ == base || derived == base);
}

TEST_F(DatatypeTest, ReferencesOutliveTheTable) {
  DatatypeRef kept;
  {
    DatatypeTable table;
    Datatype inner, outer;
    type_vector(table, 3, 1, 2, MPI_INT, &inner);
    type_contiguous(table, 2, inner, &outer);
    type_free(table, &inner);
    kept = DatatypeRef(table.find(outer));
  }
  EXPECT_EQ(kept->size(), 24);
}

TEST_F(DatatypeTest, PredefinedTypesCannotBeFreed) {
  type_ = MPI_INT;
  EXPECT_EQ(type_free(table_, &type_), MPI_ERR_TYPE);
  type_create_f90_integer(table_, 4, &type_);
  EXPECT_EQ(type_free(table_, &type_), MPI_ERR_TYPE);
  type_ = MPI_DATATYPE_NULL;
  EXPECT_EQ(type_free(table_, &type_), MPI_ERR_TYPE);
}

TEST_F(DatatypeTest, WrongArgumentsHaveTheirErrorClasses) {
  const int good[] = {1, 1}, negative[] = {1, -1};
  EXPECT_EQ(type_contiguous(table_, -1, MPI_INT, &type_), MPI_ERR_COUNT);
  EXPECT_EQ(type_contiguous(table_, 1, MPI_DATATYPE_NULL, &type_), MPI_ERR_TYPE);
  EXPECT_EQ(type_vector(table_, 1, -1, 1, MPI_INT, &type_), MPI_ERR_ARG);
  EXPECT_EQ(type_indexed(table_, 2, negative, good, MPI_INT, &type_), MPI_ERR_ARG);
  EXPECT_EQ(type_indexed(table_, 2, {}, good, MPI_INT, &type_), MPI_ERR_ARG);
  EXPECT_EQ(type_create_subarray(table_, 0, good, good, good, MPI_ORDER_C, MPI_INT, &type_),
            MPI_ERR_DIMS);
  EXPECT_EQ(type_create_subarray(table_, 2, good, good, good, MPI_ORDER_C, MPI_INT, &type_),
            MPI_ERR_ARG)
      << "starts beyond the end";
  const int zero[] = {0, 0};
  EXPECT_EQ(type_create_subarray(table_, 2, good, good, zero, 99, MPI_INT, &type_), MPI_ERR_ARG);
  // 2^31 * 2^31 * 2^31 integers are more bytes than 64 bits count.
  type_contiguous(table_, INT_MAX, MPI_INT, &type_);
  type_contiguous(table_, INT_MAX, type_, &type_);
  EXPECT_EQ(type_contiguous(table_, INT_MAX, type_, &type_), MPI_ERR_ARG);
}

TEST_F(DatatypeTest, ContentsReturnTheConstructorsArgumentsAndNewHandles) {
  const Datatype old = double_char();
  const int lengths[] = {3, 1}, places[] = {4, 0};
  type_indexed(table_, 2, lengths, places, old, &type_);
  Envelope envelope;
  ASSERT_EQ(type_get_envelope(table_, type_, &envelope), MPI_SUCCESS);
  EXPECT_EQ(envelope.combiner, MPI_COMBINER_INDEXED);
  EXPECT_EQ(envelope.integers, 5);
  EXPECT_EQ(envelope.types, 1);
  int integers[5];
  Datatype inner;
  ASSERT_EQ(type_get_contents(table_, type_, envelope, integers, nullptr, nullptr, &inner),
            MPI_SUCCESS);
  EXPECT_EQ(std::vector<int>(integers, integers + 5), (std::vector<int>{2, 3, 1, 4, 0}));
  EXPECT_NE(inner, old);
  expect_type(inner, 9, 0, 16);
  EXPECT_EQ(get(inner).combiner(), MPI_COMBINER_STRUCT);
  EXPECT_EQ(type_free(table_, &inner), MPI_SUCCESS);
  EXPECT_NE(table_.find(old), nullptr);
  --envelope.integers;
  EXPECT_EQ(type_get_contents(table_, type_, envelope, integers, nullptr, nullptr, &inner),
            MPI_ERR_ARG);
  EXPECT_EQ(type_get_contents(table_, MPI_INT, {}, integers, nullptr, nullptr, &inner),
            MPI_ERR_TYPE);
}

TEST_F(DatatypeTest, LargeCountTypesReportLargeCounts) {
  const Count huge = 3'000'000'000;
  ASSERT_EQ(type_create_hvector(table_, huge, 2, 16, MPI_INT, &type_, true), MPI_SUCCESS);
  expect_type(type_, 8 * huge, 0, 16 * huge - 8);
  Envelope envelope;
  EXPECT_EQ(type_get_envelope(table_, type_, &envelope), MPI_ERR_TYPE);
  ASSERT_EQ(type_get_envelope(table_, type_, &envelope, true), MPI_SUCCESS);
  EXPECT_EQ(envelope.integers, 0);
  EXPECT_EQ(envelope.addresses, 0);
  EXPECT_EQ(envelope.large_counts, 3);
  Count counts[3];
  Datatype inner;
  ASSERT_EQ(type_get_contents(table_, type_, envelope, nullptr, nullptr, counts, &inner, true),
            MPI_SUCCESS);
  EXPECT_EQ(counts[0], huge);
  EXPECT_EQ(counts[2], 16);
  EXPECT_EQ(inner, MPI_INT);
  const Count sizes[] = {huge, 4}, subsizes[] = {2, 2}, starts[] = {huge - 2, 1};
  ASSERT_EQ(
      type_create_subarray(table_, 2, sizes, subsizes, starts, MPI_ORDER_C, MPI_CHAR, &type_, true),
      MPI_SUCCESS);
  type_get_envelope(table_, type_, &envelope, true);
  EXPECT_EQ(envelope.integers, 2);
  EXPECT_EQ(envelope.large_counts, 6);
  EXPECT_EQ(offsets(type_).front(), (huge - 2) * 4 + 1);
}

TEST_F(DatatypeTest, NamesBelongToTheRankAndPredefinedTypesHaveOne) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  ASSERT_EQ(type_get_name(table_, MPI_DOUBLE, name, &length), MPI_SUCCESS);
  EXPECT_STREQ(name, "MPI_DOUBLE");
  EXPECT_EQ(length, 10);
  // MPI_C_COMPLEX is the same type. MPICH returns this one of the two names.
  type_get_name(table_, MPI_C_FLOAT_COMPLEX, name, &length);
  EXPECT_STREQ(name, "MPI_C_COMPLEX");
  type_get_name(table_, MPI_DATATYPE_NULL, name, &length);
  EXPECT_STREQ(name, "MPI_DATATYPE_NULL");
  type_set_name(table_, MPI_DOUBLE, "mine");
  type_get_name(table_, MPI_DOUBLE, name, &length);
  EXPECT_STREQ(name, "mine");
  DatatypeTable other;
  type_get_name(other, MPI_DOUBLE, name, &length);
  EXPECT_STREQ(name, "MPI_DOUBLE");
  type_contiguous(table_, 1, MPI_INT, &type_);
  type_get_name(table_, type_, name, &length);
  EXPECT_EQ(length, 0);
  type_set_name(table_, type_, std::string(500, 'x').c_str());
  type_get_name(table_, type_, name, &length);
  EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
}

TEST_F(DatatypeTest, Fortran90TypesAreTheSameForTheSameParameters) {
  Datatype again, complex;
  ASSERT_EQ(type_create_f90_real(table_, 15, 307, &type_), MPI_SUCCESS);
  ASSERT_EQ(type_create_f90_real(table_, 15, 307, &again), MPI_SUCCESS);
  EXPECT_EQ(type_, again);
  EXPECT_EQ(get(type_).size(), 8);
  EXPECT_EQ(get(type_).combiner(), MPI_COMBINER_F90_REAL);
  ASSERT_EQ(type_create_f90_real(table_, 15, MPI_UNDEFINED, &again), MPI_SUCCESS);
  EXPECT_NE(type_, again);
  ASSERT_EQ(type_create_f90_complex(table_, 20, MPI_UNDEFINED, &complex), MPI_SUCCESS);
  EXPECT_EQ(get(complex).size(), 32);
  ASSERT_EQ(type_create_f90_integer(table_, 10, &type_), MPI_SUCCESS);
  EXPECT_EQ(get(type_).size(), 8);
  EXPECT_EQ(type_create_f90_integer(table_, 39, &type_), MPI_ERR_ARG);
  EXPECT_EQ(type_create_f90_real(table_, MPI_UNDEFINED, MPI_UNDEFINED, &type_), MPI_ERR_ARG);
  ASSERT_EQ(type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type_), MPI_SUCCESS);
  EXPECT_EQ(get(type_).size(), 16);
  EXPECT_EQ(type_match_size(MPI_TYPECLASS_REAL, 7, &type_), MPI_ERR_ARG);
}

TEST_F(DatatypeTest, ValueIndexPairsAreTheNamedOnesWhereThereIsOne) {
  ASSERT_EQ(type_get_value_index(table_, MPI_DOUBLE, MPI_INT, &type_), MPI_SUCCESS);
  EXPECT_EQ(type_, MPI_DOUBLE_INT);
  ASSERT_EQ(type_get_value_index(table_, MPI_FLOAT, MPI_INT64_T, &type_), MPI_SUCCESS);
  expect_type(type_, 12, 0, 16);
  EXPECT_EQ(get(type_).combiner(), MPI_COMBINER_VALUE_INDEX);
  Datatype again;
  type_get_value_index(table_, MPI_FLOAT, MPI_INT64_T, &again);
  EXPECT_EQ(type_, again);
  ASSERT_EQ(type_get_value_index(table_, MPI_COMPLEX, MPI_INT, &type_), MPI_SUCCESS);
  EXPECT_EQ(type_, MPI_DATATYPE_NULL);
}

TEST_F(DatatypeTest, CountsComeFromTheBytesReceived) {
  Status status{};
  Count count = 0;
  ASSERT_EQ(status_set_elements(table_, &status, double_char(), 5), MPI_SUCCESS);
  EXPECT_EQ(status.byte_count(), 26);
  get_count(table_, status, double_char(), &count);
  EXPECT_EQ(count, MPI_UNDEFINED);
  get_elements(table_, status, double_char(), &count);
  EXPECT_EQ(count, 5);
  status.set_byte_count(27);
  get_count(table_, status, double_char(), &count);
  EXPECT_EQ(count, 3);
  type_contiguous(table_, 0, MPI_INT, &type_);
  get_count(table_, status, type_, &count);
  EXPECT_EQ(count, MPI_UNDEFINED);
  status.set_byte_count(0);
  get_count(table_, status, type_, &count);
  EXPECT_EQ(count, 0);
}

// Which coordinate of the process grid owns an index of one dimension.
int owner(int index, int size, int distribution, int argument, int processes) {
  if (distribution == MPI_DISTRIBUTE_NONE) return 0;
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    const int block = argument < 0 ? (size + processes - 1) / processes : argument;
    return index / block;
  }
  return index / (argument < 0 ? 1 : argument) % processes;
}

struct Distribution {
  int kinds[3], arguments[3], grid[3];
};

TEST_F(DatatypeTest, DistributedArraysHoldWhatTheirProcessOwns) {
  constexpr int kDefault = MPI_DISTRIBUTE_DFLT_DARG;
  constexpr int kBlock = MPI_DISTRIBUTE_BLOCK, kCyclic = MPI_DISTRIBUTE_CYCLIC;
  const Distribution cases[] = {
      {{kBlock, kBlock, kBlock}, {kDefault, kDefault, kDefault}, {2, 3, 2}},
      {{kCyclic, kCyclic, kCyclic}, {kDefault, 2, 3}, {3, 2, 2}},
      {{kBlock, kCyclic, MPI_DISTRIBUTE_NONE}, {5, 4, kDefault}, {3, 4, 1}},
      {{kCyclic, MPI_DISTRIBUTE_NONE, kBlock}, {7, kDefault, 6}, {4, 1, 3}},
  };
  const int sizes[3] = {7, 5, 11};
  for (const Distribution& d : cases) {
    for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
      const int processes = d.grid[0] * d.grid[1] * d.grid[2];
      std::vector<std::vector<Aint>> expected(static_cast<size_t>(processes));
      for (int cell = 0; cell < 7 * 5 * 11; ++cell) {
        const int fortran[3] = {cell % 7, cell / 7 % 5, cell / 35};
        const int c[3] = {cell / 55, cell / 11 % 5, cell % 11};
        const int* at = order == MPI_ORDER_C ? c : fortran;
        int rank = 0;
        for (int i = 0; i < 3; ++i) {
          rank = rank * d.grid[i] + owner(at[i], sizes[i], d.kinds[i], d.arguments[i], d.grid[i]);
        }
        for (int b = 0; b < 2; ++b) expected[static_cast<size_t>(rank)].push_back(2 * cell + b);
      }
      for (int rank = 0; rank < processes; ++rank) {
        ASSERT_EQ(type_create_darray(table_, processes, rank, 3, sizes, d.kinds, d.arguments,
                                     d.grid, order, MPI_SHORT, &type_),
                  MPI_SUCCESS);
        EXPECT_EQ(offsets(type_), expected[static_cast<size_t>(rank)]);
        EXPECT_EQ(get(type_).extent(), 2 * 7 * 5 * 11);
        EXPECT_EQ(get(type_).lb(), 0);
      }
    }
  }
}

}  // namespace
}  // namespace sesame::mpi
