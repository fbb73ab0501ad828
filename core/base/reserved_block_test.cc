#include "core/base/reserved_block.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sesame {
namespace {

TEST(ReservedBlock, GrowsInPlaceUpToWhatWasReserved) {
  constexpr size_t kMost = 8 << 20;
  ReservedBlock block(kMost);
  ASSERT_TRUE(block.extend_to(100));
  auto* bytes = static_cast<char*>(block.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 4096, 0u);
  bytes[99] = 7;
  ASSERT_TRUE(block.extend_to(kMost));
  EXPECT_EQ(block.data(), bytes);
  EXPECT_EQ(bytes[99], 7);
  EXPECT_EQ(bytes[kMost - 1], 0);
  bytes[kMost - 1] = 1;
  EXPECT_TRUE(block.extend_to(5));
  EXPECT_EQ(bytes[kMost - 1], 1);
  EXPECT_FALSE(block.extend_to(kMost + 1));
}

TEST(ReservedBlock, WhatIsNotUsedYetFaults) {
  ReservedBlock block(8 << 20);
  ASSERT_TRUE(block.extend_to(4096));
  auto* bytes = static_cast<volatile char*>(block.data());
  EXPECT_DEATH(bytes[4096] = 1, "");
}

}  // namespace
}  // namespace sesame
