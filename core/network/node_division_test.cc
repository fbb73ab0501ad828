#include "core/network/node_division.h"

#include <gtest/gtest.h>

namespace sesame::network {
namespace {

using Processes = std::vector<int>;

TEST(DivideNodes, KeepsNodesWithRanks) {
  EXPECT_EQ(divide_nodes({0, 0, 1, 2}, 3), (Processes{0, 0, 1, 2}));
}

TEST(DivideNodes, GivesANodeBetweenToTheOneBefore) {
  EXPECT_EQ(divide_nodes({-1, 1, -1, 0, -1, 2}, 3), (Processes{0, 1, 1, 0, 0, 2}));
}

TEST(DivideNodes, DividesTheNodesBehindEvenly) {
  EXPECT_EQ(divide_nodes({0, 1, -1, -1, -1, -1, -1, -1}, 2), (Processes{0, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(divide_nodes({0, 1, 2, -1}, 3), (Processes{0, 1, 2, 0}));
}

}  // namespace
}  // namespace sesame::network
