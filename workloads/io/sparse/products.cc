#include "io/sparse/products.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/scramble.h"

namespace sesame::workload::sparse {
namespace {

constexpr long kRowsAtOnce = 16;

// A whole number from -largest to largest.
double whole_number(std::uint64_t key, std::uint64_t largest) {
  return static_cast<double>(scramble(key) % (2 * largest + 1)) - static_cast<double>(largest);
}

void add_up(std::vector<double>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
}

// Two sums of the same products in another order may differ by some rounding errors of the sum of
// the magnitudes; sums of whole numbers are exact.
bool agrees(const Vectors& vectors, const double* row, long order, double value) {
  double sum = 0, magnitude = 0;
  long terms = vectors.count();
  for (long j = 0; j < order; ++j) {
    if (row[j] == 0) continue;
    ++terms;
    sum += row[j] * vectors.sum()[j];
    magnitude += std::abs(row[j]) * vectors.magnitude()[j];
  }
  const double epsilon = std::numeric_limits<double>::epsilon();
  return std::abs(value - sum) <= 2.0 * static_cast<double>(terms) * epsilon * magnitude;
}

}  // namespace

Vectors::Vectors(long order, long count)
    : count_(count), numbers_(order * count), weights_(count), sum_(order), magnitude_(order) {
  for (long i = 0; i < order * count; ++i) numbers_[i] = whole_number(2 * i, 4);
  for (long v = 0; v < count; ++v) weights_[v] = whole_number(2 * v + 1, 8);
  for (long j = 0; j < order; ++j) {
    for (long v = 0; v < count; ++v) {
      const double term = weights_[v] * numbers_[j * count + v];
      sum_[j] += term;
      magnitude_[j] += std::abs(term);
    }
  }
}

double Vectors::combined(const double* products) const {
  double result = 0;
  for (long v = 0; v < count_; ++v) result += weights_[v] * products[v];
  return result;
}

long rows_that_are_right(const Vectors& vectors, std::vector<double> combined,
                         std::vector<double> times, const RowSource& source) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long order = static_cast<long>(combined.size());
  add_up(combined);
  add_up(times);
  const Block mine = block_of(order, ranks, rank);
  long right = 0;
  for (Block part{mine.begin, mine.begin}; part.begin < mine.end; part.begin = part.end) {
    part.end = std::min(mine.end, part.begin + kRowsAtOnce);
    const std::vector<double> rows = source(part);
    for (long i = part.begin; i < part.end; ++i) {
      const double* row = &rows[(i - part.begin) * order];
      right += times[i] == 1 && agrees(vectors, row, order, combined[i]);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return right;
}

}  // namespace sesame::workload::sparse
