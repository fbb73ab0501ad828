#include "ess/wavelet/transpose.h"

#include <fcntl.h>
#include <mpi.h>

#include <utility>

#include "kit/files.h"

namespace sesame::workload {

Matrix make_matrix(long rows, long columns, int ranks) {
  Matrix matrix{rows, columns, {}, {}};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < ranks; ++i) matrix.owners.push_back(block_of(rows, ranks, i));
  matrix.values.resize(matrix.owners[rank].size() * columns);
  return matrix;
}

Transposer::Transposer(std::string directory) : directory_(std::move(directory)) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

Matrix Transposer::transpose(const Matrix& matrix) {
  Matrix result = make_matrix(matrix.columns, matrix.rows, ranks_);
  if (directory_.empty()) {
    by_messages(matrix, result);
  } else {
    by_file(matrix, result);
  }
  return result;
}

void Transposer::by_file(const Matrix& matrix, Matrix& result) {
  const std::string path = directory_ + "/scratch." + std::to_string(files_++);
  const Block rows = matrix.owners[rank_], columns = result.owners[rank_];
  if (rank_ == 0) File::open(path, O_WRONLY | O_CREAT | O_EXCL).close();
  MPI_Barrier(MPI_COMM_WORLD);
  const File file = File::open(path, O_RDWR);
  const std::size_t row_bytes = sizeof(double) * matrix.columns;
  for (long i = rows.begin; i < rows.end; ++i) {
    file.write(matrix.row(i - rows.begin), row_bytes, static_cast<long>(row_bytes) * i);
    ++requests_.writes;
    requests_.bytes_written += static_cast<double>(row_bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_ == 0) remove_file(path);  // ranks that have it open can still read it
  std::vector<double> columns_of_row(columns.size());
  const std::size_t columns_of_row_bytes = sizeof(double) * columns_of_row.size();
  for (long i = 0; i < matrix.rows && !columns_of_row.empty(); ++i) {
    file.read(columns_of_row.data(), columns_of_row_bytes,
              static_cast<long>(sizeof(double)) * (matrix.columns * i + columns.begin));
    ++requests_.reads;
    requests_.bytes_read += static_cast<double>(columns_of_row_bytes);
    for (long j = 0; j < columns.size(); ++j) result.row(j)[i] = columns_of_row[j];
  }
}

void Transposer::by_messages(const Matrix& matrix, Matrix& result) {
  const Block rows = matrix.owners[rank_], columns = result.owners[rank_];
  std::vector<double> out(rows.size() * matrix.columns), in(matrix.rows * columns.size());
  std::vector<int> out_counts, out_begins, in_counts, in_begins;
  double* next = out.data();
  for (int rank = 0; rank < ranks_; ++rank) {
    const Block theirs = result.owners[rank];
    out_begins.push_back(static_cast<int>(next - out.data()));
    for (long i = 0; i < rows.size(); ++i) {
      for (long j = theirs.begin; j < theirs.end; ++j) *next++ = matrix.row(i)[j];
    }
    out_counts.push_back(static_cast<int>(rows.size() * theirs.size()));
    in_counts.push_back(static_cast<int>(matrix.owners[rank].size() * columns.size()));
    in_begins.push_back(static_cast<int>(matrix.owners[rank].begin * columns.size()));
  }
  MPI_Alltoallv(out.data(), out_counts.data(), out_begins.data(), MPI_DOUBLE, in.data(),
                in_counts.data(), in_begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  // The ranks' rows are consecutive, in the order of ranks.
  for (long i = 0; i < matrix.rows; ++i) {
    for (long j = 0; j < columns.size(); ++j) result.row(j)[i] = in[i * columns.size() + j];
  }
}

}  // namespace sesame::workload
