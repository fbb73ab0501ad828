#include "core/base/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace sesame {
namespace {

struct alignas(64) Object : Pooled<Object> {
  int value = 7;
};

TEST(Pool, ObjectsAreAlignedAndDoNotOverlap) {
  constexpr size_t kMany = 50000;  // several blocks of each size
  std::set<uintptr_t> addresses;
  std::vector<Object*> objects;
  for (size_t i = 0; i < kMany; ++i) {
    objects.push_back(new Object);
    const auto address = reinterpret_cast<uintptr_t>(objects.back());
    ASSERT_EQ(address % alignof(Object), 0u);
    addresses.insert(address);
  }
  EXPECT_EQ(addresses.size(), kMany);
  EXPECT_GE(*std::next(addresses.begin()) - *addresses.begin(), sizeof(Object));
  for (Object* object : objects) delete object;
}

TEST(Pool, TheObjectFreedLastIsReusedFirstAndConstructedAgain) {
  auto* first = new Object;
  first->value = 8;
  delete first;
  auto* second = new Object;
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->value, 7);
  delete second;
}

}  // namespace
}  // namespace sesame
