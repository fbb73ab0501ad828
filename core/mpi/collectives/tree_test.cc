#include "core/mpi/collectives/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace sesame::mpi::collectives {
namespace {

using PlaceInTree = std::function<TreePlace(int rank, int size)>;

// The ranks below `rank`, and itself, in the order in which reduce_tree() has their operands, from
// the right: the rank's own, then those of its first child, and so on.
void collect(const PlaceInTree& place, int rank, int size, std::vector<int>* ranks) {
  ranks->push_back(rank);
  for (const int child : place(rank, size).children) collect(place, child, size, ranks);
}

TEST(Trees, HaveEveryRankOnceBelowTheRoot) {
  for (const int size : {1, 2, 3, 4, 7, 16, 17, 100}) {
    for (const int root : {0, size / 2, size - 1}) {
      const PlaceInTree trees[] = {
          [root](int rank, int ranks) { return chain_place(rank, ranks, root); },
          [root](int rank, int ranks) { return binary_place(rank, ranks, root); },
          [root](int rank, int ranks) { return nomial_place(rank, ranks, root, 2); },
          [root](int rank, int ranks) { return nomial_place(rank, ranks, root, 4); },
      };
      for (const PlaceInTree& place : trees) {
        std::vector<int> ranks;
        collect(place, root, size, &ranks);
        std::ranges::sort(ranks);
        ASSERT_EQ(ranks.size(), static_cast<size_t>(size));
        for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ranks[static_cast<size_t>(rank)], rank);
        EXPECT_EQ(place(root, size).parent, MPI_PROC_NULL);
        for (int rank = 0; rank < size; ++rank) {
          for (const int child : place(rank, size).children)
            EXPECT_EQ(place(child, size).parent, rank);
        }
      }
    }
  }
}

TEST(Trees, AreThoseOfOpenMpi) {
  using Ranks = std::vector<int>;
  EXPECT_EQ(binary_place(0, 8, 0).children, (Ranks{1, 2}));
  EXPECT_EQ(binary_place(1, 8, 0).children, (Ranks{3, 5}));
  EXPECT_EQ(binary_place(2, 8, 0).children, (Ranks{4, 6}));
  EXPECT_EQ(binary_place(3, 8, 0).children, (Ranks{7}));
  EXPECT_EQ(nomial_place(0, 10, 0, 4).children, (Ranks{4, 8, 1, 2, 3}));
  EXPECT_EQ(nomial_place(4, 10, 0, 4).children, (Ranks{5, 6, 7}));
  EXPECT_EQ(nomial_place(8, 10, 0, 4).children, (Ranks{9}));
  EXPECT_EQ(ordered_place(6, 7).children, (Ranks{5, 2}));
}

TEST(OrderedTree, VisitsRanksFromTheLastToTheFirst) {
  for (int size = 1; size <= 40; ++size) {
    std::vector<int> ranks;
    collect(ordered_place, size - 1, size, &ranks);
    ASSERT_EQ(ranks.size(), static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) EXPECT_EQ(ranks[static_cast<size_t>(i)], size - 1 - i);
  }
}

}  // namespace
}  // namespace sesame::mpi::collectives
