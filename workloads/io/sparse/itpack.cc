#include "io/sparse/itpack.h"

#include <algorithm>

namespace sesame::workload::sparse {

double Itpack::bytes() const {
  return static_cast<double>(values.size() * (sizeof(double) + sizeof(std::int32_t)) +
                             begin.size() * sizeof(std::int64_t));
}

void Itpack::append(const double* row, long order) {
  for (long j = 0; j < order; ++j) {
    if (row[j] == 0) continue;
    values.push_back(row[j]);
    columns.push_back(static_cast<std::int32_t>(j));
  }
  begin.push_back(nonzeros());
}

void Itpack::multiply(long first, const double* vectors, long count, double* products) const {
  std::fill(products, products + (rows() - first) * count, 0.0);
  for (long i = first; i < rows(); ++i, products += count) {
    for (std::int64_t at = begin[i]; at < begin[i + 1]; ++at) {
      const double value = values[at];
      const double* __restrict vector = vectors + columns[at] * count;
      double* __restrict product = products;
      for (long v = 0; v < count; ++v) product[v] += value * vector[v];
    }
  }
}

}  // namespace sesame::workload::sparse
