// Matrices whose rows are shared out to ranks, and their transposition: by a scratch file that all
// write rows to and read columns from, as programs did whose images did not fit into memory, or by
// messages. Both move numbers only; the results are the same, bit for bit.
#ifndef WORKLOADS_ESS_WAVELET_TRANSPOSE_H_
#define WORKLOADS_ESS_WAVELET_TRANSPOSE_H_

#include <string>
#include <vector>

#include "kit/ranks.h"

namespace sesame::workload {

struct Matrix {
  long rows = 0, columns = 0;
  std::vector<Block> owners;   // of rows, by rank
  std::vector<double> values;  // of this rank's rows

  double* row(long index) { return &values[index * columns]; }
  const double* row(long index) const { return &values[index * columns]; }
};

Matrix make_matrix(long rows, long columns, int ranks);

// What the scratch files were asked for, by this rank.
struct Requests {
  long reads = 0, writes = 0;
  double bytes_read = 0, bytes_written = 0;
};

class Transposer {
 public:
  // `directory` is on a file system that all ranks see; empty: by messages.
  explicit Transposer(std::string directory);

  // Collective. The columns of the result's rows are shared out evenly.
  Matrix transpose(const Matrix& matrix);

  const Requests& requests() const { return requests_; }

 private:
  void by_file(const Matrix& matrix, Matrix& result);
  void by_messages(const Matrix& matrix, Matrix& result);

  std::string directory_;
  int rank_ = 0, ranks_ = 1;
  long files_ = 0;
  Requests requests_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_WAVELET_TRANSPOSE_H_
