#include "kit/agree.h"

#include <mpi.h>

#include "kit/arguments.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

// The text of the first rank that has one, on all ranks.
std::string first_of_all(const std::string& trouble) {
  const int ranks = number_of_ranks();
  const int mine = trouble.empty() ? ranks : this_rank();
  int first = 0;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == ranks) return "";
  std::string text = trouble;
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD);
  text.resize(length);
  MPI_Bcast(text.data(), length, MPI_CHAR, first, MPI_COMM_WORLD);
  return text;
}

}  // namespace

void refuse_if_any(const std::string& trouble) {
  const std::string first = first_of_all(trouble);
  if (!first.empty()) throw UsageError(first);
}

void fail_if_any(const std::string& trouble) {
  const std::string first = first_of_all(trouble);
  if (!first.empty()) throw Failure(first);
}

}  // namespace sesame::workload
