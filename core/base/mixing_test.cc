#include "core/base/mixing.h"

#include <gtest/gtest.h>

#include <set>

namespace sesame {
namespace {

// The first outputs of SplitMix64 with seed 0, as its authors' and Java's SplittableRandom have
// them.
TEST(Mixing, MatchesSplitMix64) {
  EXPECT_EQ(mix64(0x9e3779b97f4a7c15ull), 0xe220a8397b1dcdafull);
  EXPECT_EQ(mix64(2 * 0x9e3779b97f4a7c15ull), 0x6e789e6aa1b965f4ull);
  EXPECT_EQ(mix64({0}), 0xe220a8397b1dcdafull);
}

// Fields of more bits than a share of 64 do not overlap.
TEST(Mixing, ManyFieldsHaveNumbersOfTheirOwn) {
  std::set<uint64_t> seen;
  size_t made = 0;
  for (const uint64_t from : {0, 1, 1 << 20, 1 << 21}) {
    for (const uint64_t to : {0, 1, 1 << 20, 1 << 21}) {
      for (uint64_t number = 0; number < 1u << 22; number += 1u << 18, ++made) {
        seen.insert(mix64({from, to, number}));
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

}  // namespace
}  // namespace sesame
