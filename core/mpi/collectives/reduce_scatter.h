// MPI_Reduce_scatter and MPI_Reduce_scatter_block: the combination of all ranks' vectors, each
// rank gets its part of the result.
#pragma once

#include <vector>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Which elements of the result belong to which rank: parts in rank order without gaps.
class Partition {
 public:
  Partition(Count uniform, int ranks) : ranks_(ranks), uniform_(uniform) {}
  Partition(const RankArray& counts, int ranks);

  int ranks() const { return ranks_; }
  Count begin(int rank) const {
    return begins_.empty() ? rank * uniform_ : begins_[static_cast<size_t>(rank)];
  }
  Count count(int first, int end) const { return begin(end) - begin(first); }
  Count count(int rank) const { return count(rank, rank + 1); }
  Count total() const { return begin(ranks_); }
  bool is_uniform() const;

 private:
  int ranks_;
  Count uniform_ = 0;
  std::vector<Count> begins_;
};

// The own contribution is at `send`, which is not MPI_IN_PLACE and may be changed when it is a
// copy; the count of the reduction does not matter. `receive` may be the start of `send`.
// For commutative operations:
void reduce_scatter_halving(Transfer& transfer, const void* send, void* receive,
                            const Partition& parts, const Reduction& reduction);
void reduce_scatter_pairwise(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);
// For all operations; the first for parts of one size and a power of two of ranks (Bernaschi,
// Iannello and Lauria, "Efficient implementation of reduce-scatter in MPI", 2003).
void reduce_scatter_mirrored(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);
void reduce_scatter_doubling(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);

// `send` may be MPI_IN_PLACE: the contribution is at `receive` then.
int reduce_scatter(Transfer& transfer, const void* send, void* receive, const Partition& parts,
                   const Reduction& reduction);

}  // namespace sesame::mpi::collectives
