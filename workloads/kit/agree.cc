#include "kit/agree.h"

#include <mpi.h>

#include "kit/arguments.h"

namespace sesame::workload {

void refuse_if_any(const std::string& trouble) {
  int rank = 0, ranks = 1, first = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int mine = trouble.empty() ? ranks : rank;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == ranks) return;
  std::string text = trouble;
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD);
  text.resize(length);
  MPI_Bcast(text.data(), length, MPI_CHAR, first, MPI_COMM_WORLD);
  throw UsageError(text);
}

}  // namespace sesame::workload
