// MPI_Reduce_scatter and MPI_Reduce_scatter_block: reduce all ranks' vectors and give each rank its
// block of the result. reduce_scatter() chooses the algorithm as MPICH (thresholds.h) or Open MPI
// does (open_mpi_rules.h), and returns an MPI error class.
#pragma once

#include <vector>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Which elements of the result belong to which rank: blocks in rank order without gaps.
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
  // Whether all ranks have blocks of one size by the call's nature (MPI_Reduce_scatter_block).
  bool is_block() const { return begins_.empty(); }

 private:
  int ranks_;
  Count uniform_ = 0;
  std::vector<Count> begins_;
};

// The own contribution is at `send`, which must not be MPI_IN_PLACE; `receive` may be the start of
// `send`. The count of the reduction is not used. For commutative operations:
void reduce_scatter_halving(Transfer& transfer, const void* send, void* receive,
                            const Partition& parts, const Reduction& reduction);
void reduce_scatter_pairwise(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);
// For all operations. The first requires blocks of one size and a power of two of ranks (Bernaschi,
// Iannello and Lauria, "Efficient implementation of reduce-scatter in MPI", 2003).
void reduce_scatter_mirrored(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);
void reduce_scatter_doubling(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction);
// Reduce to rank 0, which scatters the result.
void reduce_scatter_by_root(Transfer& transfer, const void* send, void* receive,
                            const Partition& parts, const Reduction& reduction);

// `send` may be MPI_IN_PLACE: the contribution is at `receive` then.
int reduce_scatter(Transfer& transfer, const void* send, void* receive, const Partition& parts,
                   const Reduction& reduction);

}  // namespace sesame::mpi::collectives
