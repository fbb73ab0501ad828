#include "io/sparse/generator.h"

#include <algorithm>
#include <cmath>

#include "io/scramble.h"
#include "kit/arguments.h"

namespace sesame::workload::sparse {
namespace {

constexpr long kLargestValue = 9;
constexpr double kLargestSkew = 10;

struct Known {
  const char* name;
  long order, nonzeros;
};

constexpr Known kKnown[] = {
    {"orani678", 2529, 90158}, {"psmigr1", 3140, 543162}, {"bcsstk28", 4410, 219024}};

void check(const MatrixSize& size) {
  if (size.order < 1) throw UsageError("--order: expected at least 1");
  const double places = static_cast<double>(size.order) * static_cast<double>(size.order);
  if (size.nonzeros < 0 || static_cast<double>(size.nonzeros) > places) {
    throw UsageError("--nonzeros " + std::to_string(size.nonzeros) + ": a matrix of order " +
                     std::to_string(size.order) + " has from 0 to order * order");
  }
  if (!(size.skew >= 0 && size.skew <= kLargestSkew)) {
    throw UsageError("--skew: expected a number from 0 to 10");
  }
}

// The sum over the rows of min(scale * weight, order).
double filled(const std::vector<double>& weights, double scale) {
  const double full = static_cast<double>(weights.size());
  double sum = 0;
  for (double weight : weights) sum += std::min(scale * weight, full);
  return sum;
}

// The scale that gives `nonzeros` in all, by bisection.
double scale_for(const std::vector<double>& weights, double nonzeros) {
  double low = 0, high = 1;
  while (filled(weights, high) < nonzeros) {
    const double before = high;
    high *= 2;
    if (filled(weights, high) == filled(weights, before)) break;  // full
  }
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (filled(weights, middle) < nonzeros ? low : high) = middle;
  }
  return high;
}

// A key for a place in the matrix and a purpose.
std::uint64_t key(long row, long number, int purpose) {
  const auto high = static_cast<std::uint64_t>(row) * 2 + static_cast<std::uint64_t>(purpose);
  return scramble(scramble(high) + static_cast<std::uint64_t>(number));
}

}  // namespace

GeneratedMatrix::GeneratedMatrix(const MatrixSize& size) : size_(size) {
  check(size);
  std::vector<double> weights(size.order);
  for (long i = 0; i < size.order; ++i) weights[i] = std::pow(i + 1.0, -size.skew);
  const double scale = scale_for(weights, static_cast<double>(size.nonzeros));
  // Rounding the sums, not the counts, gives the wanted number in all; where a row would get more
  // than it holds, the next has the rest.
  begin_.assign(size.order + 1, 0);
  double sum = 0;
  for (long i = 0; i < size.order; ++i) {
    sum += std::min(scale * weights[i], static_cast<double>(size.order));
    const long rest = (size.order - i - 1) * size.order;  // what the rows after it can hold
    const long least = std::max(begin_[i], size.nonzeros - rest);
    const long most = std::min(begin_[i] + size.order, size.nonzeros);
    begin_[i + 1] = std::clamp(std::lround(sum), least, most);
  }
  begin_[size.order] = size.nonzeros;
}

void GeneratedMatrix::row(long row, double* values) const {
  const long count = nonzeros_of_row(row);
  std::fill(values, values + size_.order, 0.0);
  for (long i = 0; i < count; ++i) {
    const long begin = i * size_.order / count;
    const long width = (i + 1) * size_.order / count - begin;
    const auto place = static_cast<long>(key(row, i, 0) % static_cast<std::uint64_t>(width));
    values[begin + place] = static_cast<double>(1 + key(row, i, 1) % kLargestValue);
  }
}

MatrixSize matrix_size_of(const std::string& name) {
  std::string names;
  for (const Known& known : kKnown) {
    if (name == known.name) return {known.order, known.nonzeros, 0};
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw UsageError("--like " + name + ": expected one of " + names);
}

}  // namespace sesame::workload::sparse
