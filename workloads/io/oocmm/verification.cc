#include "io/oocmm/verification.h"

#include <fcntl.h>
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "io/scramble.h"
#include "kit/files.h"
#include "kit/ranks.h"

namespace sesame::workload::oocmm {
namespace {

constexpr double kExact = 0x1p53;  // up to here all whole numbers are doubles

// Sums are modulo 2^64, so that they are exact also when what is in the file is absurd.
std::uint64_t number_of(long index) { return scramble(static_cast<std::uint64_t>(index)) >> 44; }

std::uint64_t whole(double value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

bool is_whole(double value) { return std::abs(value) < kExact && value == std::trunc(value); }

// B x, on all ranks.
std::vector<std::uint64_t> second_times_vector(long order, Block mine) {
  std::vector<std::uint64_t> result(order);
  for (long row = mine.begin; row < mine.end; ++row) {
    for (long j = 0; j < order; ++j) result[row] += whole(second_element(row, j)) * number_of(j);
  }
  MPI_Allreduce(MPI_IN_PLACE, result.data(), static_cast<int>(order), MPI_UINT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  return result;
}

bool agrees(const std::vector<double>& product, long row,
            const std::vector<std::uint64_t>& vector) {
  std::uint64_t expected = 0, found = 0;
  for (std::size_t j = 0; j < product.size(); ++j) {
    const long column = static_cast<long>(j);
    if (!is_whole(product[j])) return false;
    expected += whole(first_element(row, column)) * vector[j];
    found += whole(product[j]) * number_of(column);
  }
  return expected == found;
}

}  // namespace

long rows_that_are_right(const Plan& plan, const Files& files) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long n = plan.order;
  // The reduction also waits until all have written.
  const std::vector<std::uint64_t> vector = second_times_vector(n, block_of(n, ranks, rank));
  const File file = File::open(files.product(), O_RDONLY);
  const Block mine = block_of(n, ranks, (rank + 1) % ranks);
  std::vector<double> product(n);
  long right = 0;
  for (long row = mine.begin; row < mine.end; ++row) {
    file.read(product.data(), n * sizeof(double), row * n * static_cast<long>(sizeof(double)));
    right += agrees(product, row, vector);
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return right;
}

}  // namespace sesame::workload::oocmm
