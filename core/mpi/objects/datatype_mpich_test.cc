// The same random datatypes in Sesame and in MPICH: tests/programs/datatypes must print the same
// text. Skipped where MPICH is not installed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_create.h"
#include "core/mpi/objects/datatype_query.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

constexpr int kTypes = 1000;

// The MPI functions that the program calls, for the types of `table`. Its output goes to `printed`.
DatatypeTable* table = nullptr;
std::string printed;

using MPI_Datatype = Datatype;
using MPI_Aint = Aint;
using MPI_Status = Status;
constexpr Comm MPI_COMM_SELF = sesame::mpi::MPI_COMM_SELF;

void check(int status) { ASSERT_EQ(status, MPI_SUCCESS); }

[[gnu::format(printf, 1, 2)]] int print(const char* format, ...) {
  std::array<char, 256> text;
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  printed += text.data();
  return size;
}

void MPI_Type_size(Datatype type, int* size) {
  Count count = 0;
  check(type_size(*table, type, &count));
  *size = static_cast<int>(count);
}
void MPI_Type_get_extent(Datatype type, Aint* lb, Aint* extent) {
  Count low = 0, length = 0;
  check(type_get_extent(*table, type, &low, &length));
  *lb = low, *extent = length;
}
void MPI_Type_get_true_extent(Datatype type, Aint* lb, Aint* extent) {
  Count low = 0, length = 0;
  check(type_get_true_extent(*table, type, &low, &length));
  *lb = low, *extent = length;
}
void MPI_Type_get_envelope(Datatype type, int* integers, int* addresses, int* types,
                           int* combiner) {
  Envelope envelope;
  check(type_get_envelope(*table, type, &envelope));
  *integers = static_cast<int>(envelope.integers);
  *addresses = static_cast<int>(envelope.addresses);
  *types = static_cast<int>(envelope.types);
  *combiner = envelope.combiner;
}
void MPI_Type_get_contents(Datatype type, int integers, int addresses, int types, int* ints,
                           Aint* places, Datatype* olds) {
  check(type_get_contents(*table, type, {integers, addresses, 0, types, 0}, ints, places, nullptr,
                          olds));
}
void MPI_Type_contiguous(int count, Datatype old, Datatype* out) {
  check(type_contiguous(*table, count, old, out));
}
void MPI_Type_vector(int count, int length, int stride, Datatype old, Datatype* out) {
  check(type_vector(*table, count, length, stride, old, out));
}
void MPI_Type_create_hvector(int count, int length, Aint stride, Datatype old, Datatype* out) {
  check(type_create_hvector(*table, count, length, stride, old, out));
}
void MPI_Type_create_resized(Datatype old, Aint lb, Aint extent, Datatype* out) {
  check(type_create_resized(*table, old, lb, extent, out));
}
void MPI_Type_dup(Datatype old, Datatype* out) { check(type_dup(*table, old, out)); }
void MPI_Type_indexed(int count, const int* lengths, const int* places, Datatype old,
                      Datatype* out) {
  check(type_indexed(*table, count, lengths, places, old, out));
}
void MPI_Type_create_hindexed(int count, const int* lengths, const Aint* places, Datatype old,
                              Datatype* out) {
  check(type_create_hindexed(*table, count, lengths, places, old, out));
}
void MPI_Type_create_indexed_block(int count, int length, const int* places, Datatype old,
                                   Datatype* out) {
  check(type_create_indexed_block(*table, count, length, places, old, out));
}
void MPI_Type_create_hindexed_block(int count, int length, const Aint* places, Datatype old,
                                    Datatype* out) {
  check(type_create_hindexed_block(*table, count, length, places, old, out));
}
void MPI_Type_create_struct(int count, const int* lengths, const Aint* places,
                            const Datatype* types, Datatype* out) {
  check(type_create_struct(*table, count, lengths, places, types, out));
}
void MPI_Type_create_subarray(int ndims, const int* sizes, const int* subsizes, const int* starts,
                              int order, Datatype old, Datatype* out) {
  check(type_create_subarray(*table, ndims, sizes, subsizes, starts, order, old, out));
}
void MPI_Type_create_darray(int size, int rank, int ndims, const int* sizes, const int* kinds,
                            const int* arguments, const int* grid, int order, Datatype old,
                            Datatype* out) {
  check(type_create_darray(*table, size, rank, ndims, sizes, kinds, arguments, grid, order, old,
                           out));
}
void MPI_Type_commit(Datatype* type) { check(type_commit(*table, type)); }
void MPI_Type_free(Datatype* type) { check(type_free(*table, type)); }
void MPI_Status_set_elements(Status* status, Datatype type, int count) {
  check(status_set_elements(*table, status, type, count));
}
void MPI_Get_count(const Status* status, Datatype type, int* count) {
  Count wide = 0;
  check(get_count(*table, *status, type, &wide));
  *count = static_cast<int>(wide);
}
void MPI_Get_elements(const Status* status, Datatype type, int* count) {
  Count wide = 0;
  check(get_elements(*table, *status, type, &wide));
  *count = static_cast<int>(wide);
}
void MPI_Pack_size(int count, Datatype type, Comm, int* size) {
  Count wide = 0;
  check(pack_size(*table, count, type, &wide));
  *size = static_cast<int>(wide);
}
void MPI_Pack(const void* in, int count, Datatype type, void* out, int size, int* position, Comm) {
  Count at = *position;
  check(pack(*table, in, count, type, out, size, &at));
  *position = static_cast<int>(at);
}
void MPI_Unpack(const void* in, int size, int* position, void* out, int count, Datatype type,
                Comm) {
  Count at = *position;
  check(unpack(*table, in, size, &at, out, count, type));
  *position = static_cast<int>(at);
}
void MPI_Pack_external_size(const char* datarep, int count, Datatype type, Aint* size) {
  Count wide = 0;
  check(pack_external_size(*table, datarep, count, type, &wide));
  *size = wide;
}
void MPI_Pack_external(const char* datarep, const void* in, int count, Datatype type, void* out,
                       Aint size, Aint* position) {
  Count at = *position;
  check(pack_external(*table, datarep, in, count, type, out, size, &at));
  *position = at;
}

#define printf print
#include "tests/programs/datatypes/random_types.h"
#undef printf

// The output of a command, empty when it fails.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  while (size_t size = fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), size);
  return pclose(pipe) == 0 ? text : std::string();
}

std::string print_ours() {
  DatatypeTable types;
  table = &types;
  printed.clear();
  for (int seed = 1; seed <= kTypes; ++seed) print_type(seed);
  EXPECT_EQ(types.live_count(), 0u);
  return printed;
}

// The program as MPICH runs it; empty when it cannot be built here.
std::string print_mpich() {
  const auto program =
      std::filesystem::temp_directory_path() / ("sesame_random_types_" + std::to_string(getpid()));
  const std::string source = SESAME_SOURCE_DIR "/tests/programs/datatypes/random_types.c";
  std::string text;
  if (std::system(
          ("mpicc.mpich -O1 -o " + program.string() + " " + source + " 2>/dev/null").c_str()) ==
      0) {
    text = output_of(program.string() + " 1 " + std::to_string(kTypes));
  }
  std::filesystem::remove(program);
  return text;
}

TEST(DatatypeMpich, RandomTypesAreTheSameAsInTheHostsMpich) {
  if (std::system("command -v mpicc.mpich >/dev/null") != 0) GTEST_SKIP() << "no mpicc.mpich";
  const std::string theirs = print_mpich();
  ASSERT_FALSE(theirs.empty()) << "MPICH's program did not run";
  const std::string ours = print_ours();
  size_t line = 1;
  for (size_t at = 0, other = 0; at < ours.size() && other < theirs.size(); ++line) {
    const size_t end = ours.find('\n', at), other_end = theirs.find('\n', other);
    ASSERT_EQ(ours.substr(at, end - at), theirs.substr(other, other_end - other));
    at = end + 1, other = other_end + 1;
  }
  EXPECT_EQ(line, static_cast<size_t>(kTypes) + 1);
}

}  // namespace
}  // namespace sesame::mpi
