// Whole nodes for each worker, and numbers of ranks as equal as that allows.
#include "core/sim/rank_division.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace sesame::sim {
namespace {

using Numbers = std::vector<int>;

TEST(RankDivision, GivesEachWorkerTheSameNumberOfRanks) {
  EXPECT_EQ(divide_ranks({0, 1, 2, 3}, 2), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(divide_ranks({0, 0, 1, 1, 2, 2}, 3), (Numbers{0, 0, 1, 1, 2, 2}));
}

TEST(RankDivision, KnowsTheLargestShare) {
  EXPECT_EQ(largest_share({0, 1, 1, 2, 1}), 3);
  EXPECT_EQ(largest_share({0, 0}), 2);
}

TEST(RankDivision, KeepsNodesWhole) {
  EXPECT_EQ(divide_ranks({0, 1, 0, 1}, 2), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(divide_ranks({7, 7, 7, 2}, 2), (Numbers{0, 0, 0, 1}));
}

TEST(RankDivision, IsEmptyForMoreWorkersThanNodes) {
  EXPECT_TRUE(divide_ranks({0, 0, 1}, 3).empty());
}

TEST(RankDivision, LeavesNoWorkerWithoutANodeWhereverTheLargeOnesAre) {
  std::mt19937 random(1);
  for (int attempt = 0; attempt < 200; ++attempt) {
    Numbers nodes(1 + random() % 40);
    for (int& node : nodes) node = static_cast<int>(random() % (1 + random() % 12));
    const std::set<int> all(nodes.begin(), nodes.end());
    const int workers = 1 + static_cast<int>(random() % all.size());
    const Numbers divided = divide_ranks(nodes, workers);
    ASSERT_EQ(divided.size(), nodes.size());
    std::map<int, int> worker_of_node;
    std::set<int> used;
    for (size_t rank = 0; rank < nodes.size(); ++rank) {
      const auto [known, is_new] = worker_of_node.emplace(nodes[rank], divided[rank]);
      EXPECT_EQ(known->second, divided[rank]) << "a node is divided";
      used.insert(divided[rank]);
    }
    EXPECT_EQ(used.size(), static_cast<size_t>(workers));
    EXPECT_EQ(*used.rbegin(), workers - 1);
  }
}

}  // namespace
}  // namespace sesame::sim
