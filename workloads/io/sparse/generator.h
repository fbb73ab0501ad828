// Sparse matrices made from formulas: any rank makes any row by itself, always the same.
#ifndef WORKLOADS_IO_SPARSE_GENERATOR_H_
#define WORKLOADS_IO_SPARSE_GENERATOR_H_

#include <string>
#include <vector>

namespace sesame::workload::sparse {

struct MatrixSize {
  long order;
  long nonzeros;
  double skew;  // row i has nonzeros in proportion to (i + 1)^-skew, as far as a row can hold them
};

class GeneratedMatrix {
 public:
  // Throws UsageError when there is no such matrix.
  explicit GeneratedMatrix(const MatrixSize& size);

  long order() const { return size_.order; }
  long nonzeros_of_row(long row) const { return begin_[row + 1] - begin_[row]; }

  // The row with its zeros, order() numbers. Values are whole numbers from 1 to 9, one in each of
  // as many equal stretches of the row as it has nonzeros.
  void row(long row, double* values) const;

 private:
  MatrixSize size_;
  std::vector<long> begin_;  // nonzeros in front of each row
};

// Order and nonzeros of ORANI678, PSMIGR1 or BCSSTK28 in Table 1; throws UsageError for others.
MatrixSize matrix_size_of(const std::string& name);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_GENERATOR_H_
