// For tests of collectives: numbers of ranks, values that identify rank and index, and operations
// whose result depends on the order of the operands.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi::testing {

inline const std::vector<int> kRankCounts = {1,  2,  3,  4,  5,  6,  7,  8,  9,
                                             10, 11, 12, 13, 14, 15, 16, 17, 32};

// The element `index` of the vector of `rank`.
inline int value(int rank, Count index) {
  return static_cast<int>(static_cast<uint32_t>(rank + 1) * 2654435761u +
                          static_cast<uint32_t>(index) * 40503u);
}
inline std::vector<int> values(int rank, Count count) {
  std::vector<int> result(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) result[static_cast<size_t>(i)] = value(rank, i);
  return result;
}

// x -> a x + b; maps compose associatively, but not commutatively.
struct Affine {
  uint32_t a;
  uint32_t b;
  bool operator==(const Affine&) const = default;
};
inline Affine affine(int rank, Count index) {
  return {static_cast<uint32_t>(2 * rank + 3 + 2 * index),
          static_cast<uint32_t>(value(rank, index))};
}
inline Affine then(Affine first, Affine second) {
  return {first.a * second.a, first.b * second.a + second.b};
}
inline void compose(const void* in, void* inout, Count count, Datatype) {
  const auto* first = static_cast<const Affine*>(in);
  auto* second = static_cast<Affine*>(inout);
  for (Count i = 0; i < count; ++i) second[i] = then(first[i], second[i]);
}
// The maps of the ranks [begin, end) one after the other.
inline Affine composed(int begin, int end, Count index) {
  Affine result{1, 0};
  for (int rank = begin; rank < end; ++rank) result = then(result, affine(rank, index));
  return result;
}
inline std::vector<Affine> affines(int rank, Count count) {
  std::vector<Affine> result(static_cast<size_t>(count));
  for (Count i = 0; i < count; ++i) result[static_cast<size_t>(i)] = affine(rank, i);
  return result;
}
inline Datatype make_affine_type() {
  Datatype type = MPI_DATATYPE_NULL;
  Type_contiguous(2, MPI_UINT32_T, &type, false);
  Type_commit(&type);
  return type;
}

// A type of one int and a gap of two: element i of a buffer is at index 3 i of an array of ints.
inline Datatype make_gapped_type() {
  Datatype type = MPI_DATATYPE_NULL;
  Type_create_resized(MPI_INT, 0, 12, &type, false);
  Type_commit(&type);
  return type;
}

// The sum over the ranks [begin, end) with the overflow of MPI_INT.
inline int sum_of_values(int begin, int end, Count index) {
  uint32_t sum = 0;
  for (int rank = begin; rank < end; ++rank) sum += static_cast<uint32_t>(value(rank, index));
  return static_cast<int>(sum);
}

inline void wait(Request& request) {
  Status status;
  Wait(&request, &status);
}

}  // namespace sesame::mpi::testing
