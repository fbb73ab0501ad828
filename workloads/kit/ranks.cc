#include "kit/ranks.h"

#include <mpi.h>

#include <algorithm>
#include <bit>

#include "kit/arguments.h"

namespace sesame::workload {
namespace {

[[noreturn]] void refuse(const std::string& program, const std::string& needed, int ranks) {
  throw UsageError(program + " needs " + needed + "; " + std::to_string(ranks) + " given");
}

}  // namespace

int this_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int number_of_ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

bool is_power_of_two(long value) {
  return value > 0 && std::has_single_bit(static_cast<unsigned long>(value));
}

int log2_of(long value) { return std::bit_width(static_cast<unsigned long>(value)) - 1; }

int require_square(const std::string& program, int ranks) {
  int root = 1;
  while ((root + 1) * (root + 1) <= ranks) ++root;
  if (root * root != ranks) refuse(program, "a square number of ranks", ranks);
  return root;
}

int require_power_of_two(const std::string& program, int ranks) {
  if (!is_power_of_two(ranks)) refuse(program, "a power of two of ranks", ranks);
  return log2_of(ranks);
}

void require_at_most(const std::string& program, int ranks, long most, const std::string& reason) {
  if (ranks <= most) return;
  refuse(program, "at most " + std::to_string(most) + " ranks (" + reason + ")", ranks);
}

Block block_of(long count, int ranks, int rank) {
  const long size = count / ranks;
  const long larger = count % ranks;
  const long begin = rank * size + std::min<long>(rank, larger);
  return {begin, begin + size + (rank < larger ? 1 : 0)};
}

}  // namespace sesame::workload
