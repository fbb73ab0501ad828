#include "core/pdes/fiber.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace sesame::pdes {
namespace {

size_t count_mappings() {
  std::ifstream file("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

std::vector<Guard> guards() {
  std::vector<Guard> kinds{Guard::kMapping};
  if (available_guard() != Guard::kMapping) kinds.push_back(available_guard());
  return kinds;
}

TEST(StackPool, GivesStacksThatAreUsableFromEndToEnd) {
  for (const Guard guard : guards()) {
    StackPool pool(10'000, 3, guard);
    for (int i = 0; i < 7; ++i) {
      const Result<Stack> stack = pool.take();
      ASSERT_TRUE(stack);
      EXPECT_EQ(stack->size_bytes, 12'288u);
      stack->base[0] = 1;
      stack->base[stack->size_bytes - 1] = 1;
    }
  }
}

TEST(StackPool, FaultsBelowEachStack) {
  for (const Guard guard : guards()) {
    StackPool pool(64 * 1024, 4, guard);
    for (int i = 0; i < 4; ++i) {
      const Result<Stack> stack = pool.take();
      ASSERT_TRUE(stack);
      volatile char* below = stack->base;
      EXPECT_DEATH(below[-1] = 1, "");
      EXPECT_DEATH(below[-static_cast<ptrdiff_t>(StackPool::kGuardBytes)] = 1, "");
    }
  }
}

TEST(StackPool, UsesAsManyMappingsAsDeclared) {
  constexpr size_t kStacks = 100;
  for (const Guard guard : guards()) {
    const size_t before = count_mappings();
    StackPool pool(64 * 1024, kStacks, guard);
    ASSERT_TRUE(pool.take());
    const auto declared = static_cast<size_t>(mappings_per_stack(guard));
    EXPECT_LE(count_mappings() - before, kStacks * declared + 2);
  }
}

TEST(StackPool, KnowsTheDeepestUseOfAllStacks) {
  constexpr size_t kBytes = 256 * 1024;
  for (const Guard guard : guards()) {
    StackPool pool(kBytes, 2, guard);
    std::vector<Stack> stacks;
    for (int i = 0; i < 5; ++i) stacks.push_back(*pool.take());
    EXPECT_EQ(pool.deepest_use(), 0u);
    for (const Stack& stack : stacks) stack.base[kBytes - 1] = 1;
    EXPECT_EQ(pool.deepest_use(), 4'096u);
    stacks[3].base[kBytes - 20'000] = 1;  // the fifth page from the end; those between are unused
    EXPECT_EQ(pool.deepest_use(), 20'480u);
    pool.give_back(stacks[3]);
    EXPECT_EQ(pool.deepest_use(), 20'480u);
  }
}

}  // namespace
}  // namespace sesame::pdes
