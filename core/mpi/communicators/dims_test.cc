#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/mpi/communicators/topology_create.h"

namespace sesame::mpi {
namespace {

std::vector<int> dims(int nodes, std::vector<int> given) {
  EXPECT_TRUE(create_dims(nodes, given));
  return given;
}

// Results of MPI_Dims_create of MPICH 4.0.2. For 360 and 5040 several solutions have the smallest
// difference. MPICH's is the one with the greatest smallest entry, not with the smallest maximum.
TEST(DimsCreate, GivesWhatMpichGives) {
  EXPECT_EQ(dims(1, {0}), (std::vector<int>{1}));
  EXPECT_EQ(dims(6, {0, 0}), (std::vector<int>{3, 2}));
  EXPECT_EQ(dims(20, {0, 0, 0, 0}), (std::vector<int>{5, 2, 2, 1}));
  EXPECT_EQ(dims(360, {0, 0, 0}), (std::vector<int>{10, 6, 6}));
  EXPECT_EQ(dims(2160, {0, 0, 0, 0}), (std::vector<int>{10, 6, 6, 6}));
  EXPECT_EQ(dims(5040, {0, 0, 0}), (std::vector<int>{21, 16, 15}));
  EXPECT_EQ(dims(15708, {0, 0, 0}), (std::vector<int>{34, 22, 21}));
  EXPECT_EQ(dims(19152, {0, 0, 0, 0}), (std::vector<int>{19, 14, 9, 8}));
  EXPECT_EQ(dims(4096, {0, 0, 0}), (std::vector<int>{16, 16, 16}));
}

TEST(DimsCreate, KeepsGivenEntriesAndFillsTheOthers) {
  EXPECT_EQ(dims(24, {0, 4, 0}), (std::vector<int>{3, 4, 2}));
  EXPECT_EQ(dims(24, {2, 3, 4}), (std::vector<int>{2, 3, 4}));
}

TEST(DimsCreate, RefusesEntriesThatDoNotDivide) {
  std::vector<int> uneven{5, 0};
  EXPECT_FALSE(create_dims(24, uneven));
  std::vector<int> full{2, 3};
  EXPECT_FALSE(create_dims(24, full));
}

// All ways to write a number as factors that do not increase.
void each_factoring(int number, size_t count, std::vector<int>& prefix,
                    const std::function<void(const std::vector<int>&)>& visit) {
  const int limit = prefix.empty() ? number : std::min(number, prefix.back());
  if (count == 1) {
    if (number > limit) return;
    prefix.push_back(number);
    visit(prefix);
    prefix.pop_back();
    return;
  }
  for (int factor = 1; factor <= limit; ++factor) {
    if (number % factor != 0) continue;
    prefix.push_back(factor);
    each_factoring(number / factor, count - 1, prefix, visit);
    prefix.pop_back();
  }
}

TEST(DimsCreate, FindsTheBestOfAllFactorings) {
  for (int nodes = 1; nodes <= 720; ++nodes) {
    for (size_t count = 2; count <= 4; ++count) {
      const std::vector<int> found = dims(nodes, std::vector<int>(count, 0));
      std::vector<int> prefix;
      const auto key = [](const std::vector<int>& d) {
        return std::tuple(d.front() - d.back(), -d.back(), d);
      };
      std::vector<int> best;
      each_factoring(nodes, count, prefix, [&](const std::vector<int>& candidate) {
        if (best.empty() || key(candidate) < key(best)) best = candidate;
      });
      EXPECT_EQ(found, best) << nodes << " nodes";
    }
  }
}

TEST(DimsCreate, IsQuickOnLargePrimes) {
  EXPECT_EQ(dims(2147483647, {0, 0, 0}), (std::vector<int>{2147483647, 1, 1}));
}

}  // namespace
}  // namespace sesame::mpi
