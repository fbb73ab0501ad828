#include <gtest/gtest.h>

#include <climits>
#include <complex>
#include <string>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

constexpr const char* kExternal = "external32";

// The bytes of (value, type) in external32 as hexadecimal digits.
template <typename T>
std::string external_bytes(DatatypeTable& table, const T& value, Datatype type, Count count = 1) {
  std::vector<unsigned char> bytes(256);
  Count position = 0, size = 0;
  EXPECT_EQ(pack_external(table, kExternal, &value, count, type, bytes.data(), 256, &position),
            MPI_SUCCESS);
  EXPECT_EQ(pack_external_size(table, kExternal, count, type, &size), MPI_SUCCESS);
  EXPECT_EQ(position, size);
  std::string text;
  for (Count i = 0; i < position; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[bytes[static_cast<size_t>(i)] >> 4];
    text += kDigits[bytes[static_cast<size_t>(i)] & 15];
  }
  return text;
}

template <typename T>
T there_and_back(DatatypeTable& table, const T& value, Datatype type) {
  std::vector<char> bytes(256);
  T back{};
  Count position = 0;
  pack_external(table, kExternal, &value, 1, type, bytes.data(), 256, &position);
  const Count size = position;
  position = 0;
  EXPECT_EQ(unpack_external(table, kExternal, bytes.data(), size, &position, &back, 1, type),
            MPI_SUCCESS);
  EXPECT_EQ(position, size);
  return back;
}

TEST(PackExternal, NumbersAreBigEndianInTheStandardsSizes) {
  DatatypeTable table;
  EXPECT_EQ(external_bytes(table, short{0x1234}, MPI_SHORT), "1234");
  EXPECT_EQ(external_bytes(table, 0x12345678, MPI_INT), "12345678");
  EXPECT_EQ(external_bytes(table, -2L, MPI_LONG), "fffffffe");
  EXPECT_EQ(external_bytes(table, 0x1234L, MPI_UNSIGNED_LONG), "00001234");
  EXPECT_EQ(external_bytes(table, -2LL, MPI_LONG_LONG_INT), "fffffffffffffffe");
  EXPECT_EQ(external_bytes(table, -2L, MPI_INT64_T), "fffffffffffffffe");
  EXPECT_EQ(external_bytes(table, Aint{1}, MPI_AINT), "0000000000000001");
  EXPECT_EQ(external_bytes(table, L'A', MPI_WCHAR), "0041");
  EXPECT_EQ(external_bytes(table, 'A', MPI_CHAR), "41");
  EXPECT_EQ(external_bytes(table, true, MPI_C_BOOL), "01");
  EXPECT_EQ(external_bytes(table, 1, MPI_LOGICAL), "00000001");
  EXPECT_EQ(external_bytes(table, 1.0f, MPI_FLOAT), "3f800000");
  EXPECT_EQ(external_bytes(table, -2.5, MPI_DOUBLE), "c004000000000000");
  EXPECT_EQ(external_bytes(table, std::complex<float>(1, -2), MPI_C_FLOAT_COMPLEX),
            "3f800000c0000000");
}

TEST(PackExternal, LongDoubleIsTheQuadruplePrecisionNumber) {
  DatatypeTable table;
  EXPECT_EQ(external_bytes(table, 1.0L, MPI_LONG_DOUBLE), "3fff0000000000000000000000000000");
  EXPECT_EQ(external_bytes(table, -1.5L, MPI_LONG_DOUBLE), "bfff8000000000000000000000000000");
  EXPECT_EQ(external_bytes(table, 1.0L / 3, MPI_LONG_DOUBLE), "3ffd5555555555555556000000000000");
}

TEST(PackExternal, PairsAndStructuresConvertElementByElementWithoutPadding) {
  DatatypeTable table;
  const struct {
    double value;
    int index;
  } pair = {1.0, 258};
  EXPECT_EQ(external_bytes(table, pair, MPI_DOUBLE_INT), "3ff000000000000000000102");
  Datatype type;
  type_vector(table, 2, 1, 2, MPI_SHORT, &type);
  type_commit(table, &type);
  const short values[] = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(external_bytes(table, values, type, 2), "0001000300040006");
}

TEST(PackExternal, EveryValueComesBack) {
  DatatypeTable table;
  for (long value : {0L, 1L, -1L, 32767L, -32768L, long{INT_MAX}, long{INT_MIN}}) {
    EXPECT_EQ(there_and_back(table, value, MPI_LONG), value);
    EXPECT_EQ(there_and_back(table, value, MPI_INT64_T), value);
    EXPECT_EQ(there_and_back(table, static_cast<int>(value), MPI_INT), static_cast<int>(value));
    const double real = 1.0 / (static_cast<double>(value) + 0.5);
    EXPECT_EQ(there_and_back(table, real, MPI_DOUBLE), real);
    EXPECT_EQ(there_and_back(table, 1.0L / real, MPI_LONG_DOUBLE), 1.0L / real);
  }
  EXPECT_EQ(there_and_back(table, 0xfffffffful, MPI_UNSIGNED_LONG), 0xfffffffful);
}

TEST(PackExternal, OtherRepresentationsAndShortBuffersAreRefused) {
  DatatypeTable table;
  int value = 1;
  char bytes[4];
  Count position = 0, size = 0;
  EXPECT_EQ(pack_external(table, "native", &value, 1, MPI_INT, bytes, 4, &position), MPI_ERR_ARG);
  EXPECT_EQ(pack_external(table, kExternal, &value, 1, MPI_INT, bytes, 3, &position), MPI_ERR_ARG);
  EXPECT_EQ(unpack_external(table, kExternal, bytes, 3, &position, &value, 1, MPI_INT),
            MPI_ERR_ARG);
  EXPECT_EQ(pack_external_size(table, kExternal, -1, MPI_INT, &size), MPI_ERR_COUNT);
  EXPECT_EQ(position, 0);
}

}  // namespace
}  // namespace sesame::mpi
