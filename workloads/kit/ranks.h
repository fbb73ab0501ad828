// The ranks of MPI_COMM_WORLD, and checks of their number. The require functions throw UsageError,
// for instance "bt needs a square number of ranks; 5 given".
#ifndef WORKLOADS_KIT_RANKS_H_
#define WORKLOADS_KIT_RANKS_H_

#include <string>

namespace sesame::workload {

int this_rank();
int number_of_ranks();

bool is_power_of_two(long value);
// The exponent, rounded down; `value` > 0.
int log2_of(long value);

// The square root.
int require_square(const std::string& program, int ranks);
// The exponent.
int require_power_of_two(const std::string& program, int ranks);
void require_at_most(const std::string& program, int ranks, long most, const std::string& reason);

// The index range [begin, end) of `count` items that rank `rank` of `ranks` has. Sizes of blocks
// differ by at most 1; the larger ones come first.
struct Block {
  long begin, end;
  long size() const { return end - begin; }
};
Block block_of(long count, int ranks, int rank);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_RANKS_H_
