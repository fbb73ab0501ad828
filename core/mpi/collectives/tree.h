// Trees of ranks along which a collective passes its data, whole, from rank to rank: the shapes
// that Open MPI uses beside the binomial tree (coll_base_topo.c of its source). Ranks are those of
// the communicator, which `size` ranks have.
#pragma once

#include <vector>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Where a rank is in a tree.
struct TreePlace {
  int parent = MPI_PROC_NULL;  // MPI_PROC_NULL: the rank is the root
  std::vector<int> children;   // in the order in which the rank serves them
};

// Each rank has the next one for its child.
TreePlace chain_place(int rank, int size, int root);
// Each rank has two children, level by level: 0 has 1 and 2, 1 has 3 and 5, 2 has 4 and 6.
TreePlace binary_place(int rank, int size, int root);
// A k-nomial tree, the binomial one for radix 2: a rank has radix - 1 children for each digit of
// its number to that base below its lowest digit that is not 0, those of the largest subtrees
// first.
TreePlace nomial_place(int rank, int size, int root, int radix);
// A binary tree rooted at the last rank, in which a rank follows its first child's subtree, and
// that follows the second child's.
TreePlace ordered_place(int rank, int size);

// Into how many segments of about `segment_bytes` an algorithm divides `count` elements of `bytes`
// bytes, at least one element each.
Count segment_count(Count count, Count bytes, Count segment_bytes);

// From the root to all ranks. A rank sends to its children at the same time.
void bcast_tree(Transfer& transfer, const Target& buffer, const TreePlace& place);
// The root of the tree gets the result at `vector`, where all ranks have their contribution; the
// vectors of other ranks are overwritten. Keeps the order of ranks in an ordered tree; for others
// the operation must be commutative.
void reduce_tree(Transfer& transfer, void* vector, const Reduction& reduction,
                 const TreePlace& place);

}  // namespace sesame::mpi::collectives
