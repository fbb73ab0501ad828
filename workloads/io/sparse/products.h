// The vectors that the matrix is multiplied with, and the check of the products. Vectors are whole
// numbers from -4 to 4, made from a formula.
//
// The check takes one sum of all vectors with whole weights w: for each row, the sum over v of
// w[v] * product[v] must be the row's product with the sum of w[v] * vector[v]. That product is
// computed from the row with its zeros, by another rank as a rule.
#ifndef WORKLOADS_IO_SPARSE_PRODUCTS_H_
#define WORKLOADS_IO_SPARSE_PRODUCTS_H_

#include <functional>
#include <vector>

#include "kit/ranks.h"

namespace sesame::workload::sparse {

class Vectors {
 public:
  Vectors(long order, long count);

  long count() const { return count_; }
  // Number j of vector v is at [j * count() + v].
  const double* data() const { return numbers_.data(); }

  // The weighted sum of a row's products.
  double combined(const double* products) const;
  // Number j of the weighted sum of the vectors, and of the weighted sum of their magnitudes.
  const std::vector<double>& sum() const { return sum_; }
  const std::vector<double>& magnitude() const { return magnitude_; }

 private:
  long count_;
  std::vector<double> numbers_, weights_, sum_, magnitude_;
};

// Some rows with their zeros, one after the other.
using RowSource = std::function<std::vector<double>(Block)>;

// Collective. How many rows have been multiplied once and right; `combined` has the weighted sums
// of this rank's products at the rows' places, `times` how often this rank had each row.
long rows_that_are_right(const Vectors& vectors, std::vector<double> combined,
                         std::vector<double> times, const RowSource& source);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_PRODUCTS_H_
