#include "core/mpi/objects/op.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"

namespace sesame::mpi {
namespace {

constexpr Op kOps[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                       MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

class OpTest : public ::testing::Test {
 protected:
  template <typename T>
  T reduce(Op op, Datatype type, T in, T inout) {
    reduce_local(&in, &inout, 1, *types_.find(type), *ops_.find(op));
    return inout;
  }
  // One character for each of kOps: which are valid.
  std::string valid(Datatype type) {
    std::string text;
    for (Op op : kOps) {
      text += op_is_valid(*ops_.find(op), *types_.find(type)) == MPI_SUCCESS ? 'y' : '-';
    }
    return text;
  }

  template <typename T>
  void expect_arithmetic(Datatype type) {
    const T a = T(5), b = T(3);
    EXPECT_TRUE(reduce(MPI_MAX, type, a, b) == a);
    EXPECT_TRUE(reduce(MPI_MIN, type, a, b) == b);
    EXPECT_TRUE(reduce(MPI_SUM, type, a, b) == T(8));
    EXPECT_TRUE(reduce(MPI_PROD, type, a, b) == T(15));
  }

  template <typename T>
  void expect_bits(Datatype type) {
    EXPECT_EQ(reduce(MPI_BAND, type, T(12), T(10)), T(8));
    EXPECT_EQ(reduce(MPI_BOR, type, T(12), T(10)), T(14));
    EXPECT_EQ(reduce(MPI_BXOR, type, T(12), T(10)), T(6));
  }

  template <typename T>
  void expect_logic(Datatype type) {
    EXPECT_EQ(reduce(MPI_LAND, type, T(2), T(1)), T(1));
    EXPECT_EQ(reduce(MPI_LAND, type, T(2), T(0)), T(0));
    EXPECT_EQ(reduce(MPI_LOR, type, T(0), T(2)), T(1));
    EXPECT_EQ(reduce(MPI_LOR, type, T(0), T(0)), T(0));
    EXPECT_EQ(reduce(MPI_LXOR, type, T(2), T(1)), T(0));
    EXPECT_EQ(reduce(MPI_LXOR, type, T(0), T(4)), T(1));
  }

  template <typename T>
  void expect_integer(Datatype type) {
    expect_arithmetic<T>(type);
    expect_bits<T>(type);
    expect_logic<T>(type);
  }

  DatatypeTable types_;
  OpTable ops_;
};

TEST_F(OpTest, OperationsAreValidOnTheTypesThatTheStandardLists) {
  // In the order of kOps: four arithmetic, six logical and bitwise in turn, two locations.
  EXPECT_EQ(valid(MPI_INT), "yyyyyyyyyy--");
  EXPECT_EQ(valid(MPI_UNSIGNED_LONG), "yyyyyyyyyy--");
  EXPECT_EQ(valid(MPI_COUNT), "yyyyyyyyyy--");
  EXPECT_EQ(valid(MPI_INTEGER), "yyyyyyyyyy--");
  EXPECT_EQ(valid(MPI_DOUBLE), "yyyy----y---");
  EXPECT_EQ(valid(MPI_REAL16), "yyyy----y---");
  EXPECT_EQ(valid(MPI_LOGICAL), "----y-y-y---");
  EXPECT_EQ(valid(MPI_C_BOOL), "----y-y-y---");
  EXPECT_EQ(valid(MPI_DOUBLE_COMPLEX), "--yy--------");
  EXPECT_EQ(valid(MPI_BYTE), "-----y-y-y--");
  EXPECT_EQ(valid(MPI_2REAL), "----------yy");
  EXPECT_EQ(valid(MPI_PACKED), "------------");
  EXPECT_EQ(valid(MPI_CHARACTER), "------------");
  Datatype derived, kind;
  type_contiguous(types_, 1, MPI_INT, &derived);
  EXPECT_EQ(valid(derived), "------------");
  type_create_f90_real(types_, 15, 300, &kind);
  EXPECT_EQ(valid(kind), "yyyy----y---");
  type_get_value_index(types_, MPI_FLOAT, MPI_INT64_T, &kind);
  EXPECT_EQ(valid(kind), "----------yy");
  EXPECT_EQ(op_is_valid(*ops_.find(MPI_REPLACE), *types_.find(MPI_INT)), MPI_ERR_OP);
  EXPECT_EQ(op_is_valid_for_accumulate(*ops_.find(MPI_REPLACE), *types_.find(MPI_CHARACTER)),
            MPI_SUCCESS);
}

TEST_F(OpTest, IntegersOfAllSizes) {
  expect_integer<signed char>(MPI_SIGNED_CHAR);
  expect_integer<unsigned char>(MPI_UNSIGNED_CHAR);
  expect_integer<short>(MPI_SHORT);
  expect_integer<unsigned short>(MPI_UNSIGNED_SHORT);
  expect_integer<int>(MPI_INT);
  expect_integer<unsigned>(MPI_UNSIGNED);
  expect_integer<long>(MPI_LONG);
  expect_integer<unsigned long>(MPI_UNSIGNED_LONG);
  expect_integer<long long>(MPI_LONG_LONG_INT);
  expect_integer<uint64_t>(MPI_UINT64_T);
  expect_integer<Aint>(MPI_AINT);
  expect_arithmetic<int8_t>(MPI_INTEGER1);
  expect_bits<int64_t>(MPI_INTEGER8);
  expect_bits<unsigned char>(MPI_BYTE);
  EXPECT_EQ(reduce(MPI_MAX, MPI_INT, -1, 1), 1);
  EXPECT_EQ(reduce(MPI_MAX, MPI_UNSIGNED, ~0u, 1u), ~0u);
  EXPECT_EQ(reduce(MPI_SUM, MPI_INT, INT32_MAX, 1), INT32_MIN);
  const __int128 wide = static_cast<__int128>(1) << 100;
  EXPECT_TRUE(reduce(MPI_SUM, MPI_INTEGER16, wide, wide) == 2 * wide);
  EXPECT_TRUE(reduce(MPI_MIN, MPI_INTEGER16, -wide, wide) == -wide);
}

TEST_F(OpTest, RealsOfAllSizes) {
  expect_arithmetic<float>(MPI_FLOAT);
  expect_arithmetic<double>(MPI_DOUBLE_PRECISION);
  expect_arithmetic<long double>(MPI_LONG_DOUBLE);
  expect_arithmetic<__float128>(MPI_REAL16);
  expect_arithmetic<_Float16>(MPIX_C_FLOAT16);
  // 1.5 and 2.25 in bfloat16; 3.75 and 3.375 need no rounding. 1 + 2^-8 is a tie: to even.
  EXPECT_EQ(reduce<uint16_t>(MPI_SUM, MPIX_BFLOAT16, 0x3fc0, 0x4010), 0x4070);
  EXPECT_EQ(reduce<uint16_t>(MPI_PROD, MPIX_BFLOAT16, 0x3fc0, 0x4010), 0x4058);
  EXPECT_EQ(reduce<uint16_t>(MPI_SUM, MPIX_BFLOAT16, 0x3f80, 0x3b80), 0x3f80);
}

TEST_F(OpTest, ComplexSumsAndProducts) {
  using Complex = std::complex<double>;
  EXPECT_EQ(reduce(MPI_SUM, MPI_DOUBLE_COMPLEX, Complex(1, 2), Complex(3, -5)), Complex(4, -3));
  EXPECT_EQ(reduce(MPI_PROD, MPI_C_DOUBLE_COMPLEX, Complex(1, 2), Complex(3, -5)), Complex(13, 1));
  using Single = std::complex<float>;
  EXPECT_EQ(reduce(MPI_PROD, MPI_COMPLEX, Single(0, 1), Single(0, 1)), Single(-1, 0));
  using Long = std::complex<long double>;
  EXPECT_EQ(reduce(MPI_PROD, MPI_C_LONG_DOUBLE_COMPLEX, Long(2, 1), Long(1, 1)), Long(1, 3));
}

TEST_F(OpTest, LogicalsOfAllSizes) {
  expect_logic<int>(MPI_LOGICAL);
  expect_logic<int8_t>(MPI_LOGICAL1);
  expect_logic<int64_t>(MPI_LOGICAL8);
  expect_logic<unsigned char>(MPI_C_BOOL);
  expect_logic<unsigned char>(MPI_CXX_BOOL);
  expect_logic<int>(MPI_INTEGER);
}

// As in MPICH 4.0.2. (MPICH aborts at MPI_LAND and MPI_LOR of these types.)
TEST_F(OpTest, FloatingPointTypesHaveTheExclusiveOr) {
  EXPECT_EQ(reduce(MPI_LXOR, MPI_FLOAT, 0.5f, 0.0f), 1.0f);
  EXPECT_EQ(reduce(MPI_LXOR, MPI_DOUBLE, 0.5, 0.25), 0.0);
  EXPECT_EQ(reduce(MPI_LXOR, MPI_LONG_DOUBLE, 0.0L, 0.25L), 1.0L);
  EXPECT_EQ(reduce(MPI_LXOR, MPI_REAL8, 0.0, 0.0), 0.0);
}

template <typename Value, typename Index>
struct Located {
  Value value;
  Index index;
  bool operator==(const Located&) const = default;
};

TEST_F(OpTest, LocationsFollowTheExtremeAndTheLowerIndexOnATie) {
  using Pair = Located<double, int>;
  EXPECT_EQ(reduce(MPI_MAXLOC, MPI_DOUBLE_INT, Pair{2, 7}, Pair{1, 3}), (Pair{2, 7}));
  EXPECT_EQ(reduce(MPI_MINLOC, MPI_DOUBLE_INT, Pair{2, 7}, Pair{1, 3}), (Pair{1, 3}));
  EXPECT_EQ(reduce(MPI_MAXLOC, MPI_DOUBLE_INT, Pair{2, 7}, Pair{2, 9}), (Pair{2, 7}));
  EXPECT_EQ(reduce(MPI_MINLOC, MPI_DOUBLE_INT, Pair{2, 7}, Pair{2, 3}), (Pair{2, 3}));
  using Short = Located<short, int>;
  EXPECT_EQ(reduce(MPI_MINLOC, MPI_SHORT_INT, Short{-5, 1}, Short{4, 0}), (Short{-5, 1}));
  using Long = Located<long double, int>;
  EXPECT_EQ(reduce(MPI_MAXLOC, MPI_LONG_DOUBLE_INT, Long{1.5L, 1}, Long{1.25L, 0}),
            (Long{1.5L, 1}));
  using Reals = Located<float, float>;
  EXPECT_EQ(reduce(MPI_MAXLOC, MPI_2REAL, Reals{3, 1}, Reals{3, 0}), (Reals{3, 0}));
  using Integers = Located<int, int>;
  EXPECT_EQ(reduce(MPI_MINLOC, MPI_2INTEGER, Integers{3, 1}, Integers{-3, 5}), (Integers{-3, 5}));
}

// What MPI_Reduce_local of MPICH 4.0.2 and Open MPI 4.1.4 gives.
TEST_F(OpTest, NansAndSignedZerosAreThoseOfRealLibraries) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Op op : {MPI_MAX, MPI_MIN}) {
    EXPECT_TRUE(std::isnan(reduce(op, MPI_DOUBLE, kNan, 1.0)));
    EXPECT_EQ(reduce(op, MPI_DOUBLE, 1.0, kNan), 1.0);
    EXPECT_TRUE(std::signbit(reduce(op, MPI_DOUBLE, -0.0, 0.0)));
    EXPECT_FALSE(std::signbit(reduce(op, MPI_DOUBLE, 0.0, -0.0)));
  }
  using Pair = Located<double, int>;
  for (const Op op : {MPI_MAXLOC, MPI_MINLOC}) {
    EXPECT_EQ(reduce(op, MPI_DOUBLE_INT, Pair{kNan, 1}, Pair{1, 2}), (Pair{1, 2}));
    const Pair kept = reduce(op, MPI_DOUBLE_INT, Pair{1, 1}, Pair{kNan, 2});
    EXPECT_TRUE(std::isnan(kept.value));
    EXPECT_EQ(kept.index, 2);
    const Pair zero = reduce(op, MPI_DOUBLE_INT, Pair{-0.0, 1}, Pair{0.0, 2});
    EXPECT_FALSE(std::signbit(zero.value));
    EXPECT_EQ(zero.index, 1);
  }
}

TEST_F(OpTest, LongVectorsReduceElementByElement) {
  std::vector<double> in(1001), inout(1001);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i), inout[i] = 0.5;
  reduce_local(in.data(), inout.data(), 1001, *types_.find(MPI_DOUBLE), *ops_.find(MPI_SUM));
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(inout[i], static_cast<double>(i) + 0.5);
}

// A user's function that records how it was called: inout = 10 * in + inout.
std::vector<Count> lengths;
void user_function() {}
void record(const ProxiedFunction& function, const void* in, void* inout, Count count,
            Datatype datatype) {
  EXPECT_EQ(function.function, user_function);
  EXPECT_EQ(datatype, MPI_CHAR);
  lengths.push_back(count);
  // The long vector of the test below has no memory.
  if (count > 1 || lengths.size() > 1) return;
  const char from = *static_cast<const char*>(in);
  char& to = *static_cast<char*>(inout);
  to = static_cast<char>(10 * from + to);
}

TEST_F(OpTest, UserOperationsAreCalledThroughTheInvoker) {
  Op op = MPI_OP_NULL;
  ASSERT_EQ(ops_.create(user_function, record, false, true, &op), MPI_SUCCESS);
  EXPECT_FALSE(ops_.find(op)->is_commutative());
  EXPECT_EQ(op_is_valid(*ops_.find(op), *types_.find(MPI_PACKED)), MPI_SUCCESS);
  lengths.clear();
  EXPECT_EQ(reduce<char>(op, MPI_CHAR, 4, 2), 42);
  char none = 0;
  const Count huge = 2 * Count{std::numeric_limits<int>::max()} + 5;
  reduce_local(&none, &none, huge, *types_.find(MPI_CHAR), *ops_.find(op));
  EXPECT_EQ(lengths, (std::vector<Count>{1, INT32_MAX, INT32_MAX, 5}));
}

TEST_F(OpTest, FreedOperationsLiveWhileReferenced) {
  Op op = MPI_OP_NULL;
  ops_.create(user_function, record, true, true, &op);
  const Op handle = op;
  OpRef pending(ops_.find(op));
  EXPECT_EQ(ops_.free(&op), MPI_SUCCESS);
  EXPECT_EQ(op, MPI_OP_NULL);
  EXPECT_EQ(ops_.live_count(), 0u);
  EXPECT_TRUE(pending->is_commutative());
  op = handle;
  EXPECT_EQ(ops_.free(&op), MPI_ERR_OP);
  pending = OpRef();
  EXPECT_EQ(ops_.find(handle), nullptr);
  op = MPI_SUM;
  EXPECT_EQ(ops_.free(&op), MPI_ERR_OP);
  EXPECT_EQ(ops_.find(MPI_OP_NULL), nullptr);
  EXPECT_EQ(ops_.find(0x5800000f), nullptr);
}

}  // namespace
}  // namespace sesame::mpi
