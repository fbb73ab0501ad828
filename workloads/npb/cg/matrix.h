// The matrix of NPB kernel CG (NPB specification, RNR-94-007): the sum over i of
// omega_i x_i x_i^T, where the x_i are random sparse vectors and omega falls from 1 by equal
// factors to the reciprocal of the condition number, plus a multiple of the identity.
#ifndef WORKLOADS_NPB_CG_MATRIX_H_
#define WORKLOADS_NPB_CG_MATRIX_H_

#include <vector>

#include "kit/ranks.h"

namespace sesame::workload {

// The block of rows and columns that one rank has, row by row. Column numbers count from the
// first column of the block.
struct SparseBlock {
  std::vector<int> row_begin;  // one more than there are rows
  std::vector<int> column;
  std::vector<double> value;

  // result = block * vector.
  void multiply(const double* vector, double* result) const;
};

SparseBlock make_matrix(int size, int nonzeros, double shift, Block rows, Block columns);

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_CG_MATRIX_H_
