// Some rows of a sparse matrix in scalar ITPACK form, also called compressed sparse rows, and their
// products with vectors. Indices count from 0.
#ifndef WORKLOADS_IO_SPARSE_ITPACK_H_
#define WORKLOADS_IO_SPARSE_ITPACK_H_

#include <cstdint>
#include <vector>

namespace sesame::workload::sparse {

struct Itpack {
  std::vector<double> values;          // a: the nonzeros, row by row
  std::vector<std::int32_t> columns;   // ja: the column of each
  std::vector<std::int64_t> begin{0};  // ia: where each row begins, and the end of the last

  long rows() const { return static_cast<long>(begin.size()) - 1; }
  long nonzeros() const { return static_cast<long>(values.size()); }
  double bytes() const;

  // Adds a row that is given with its zeros, `order` numbers.
  void append(const double* row, long order);

  // The products of the rows from `first` on with `count` vectors: number j of vector v is
  // vectors[j * count + v], and the results are in the same order.
  void multiply(long first, const double* vectors, long count, double* products) const;
};

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_ITPACK_H_
