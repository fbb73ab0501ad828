// Matrices distributed by rows, and their transposition: through a scratch file, to which all ranks
// write rows and from which they read columns (out-of-core programs did so), or by messages. The
// results are bitwise equal.
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

// Requests of this rank to the scratch files.
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
