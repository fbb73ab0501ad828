#include "core/base/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace sesame {
namespace {

struct alignas(64) Thing : Pooled<Thing> {
  int value = 7;
};

TEST(Pool, ObjectsAreAlignedAndApart) {
  constexpr size_t kMany = 50000;  // several blocks of each size
  std::set<uintptr_t> places;
  std::vector<Thing*> things;
  for (size_t i = 0; i < kMany; ++i) {
    things.push_back(new Thing);
    const auto place = reinterpret_cast<uintptr_t>(things.back());
    ASSERT_EQ(place % alignof(Thing), 0u);
    places.insert(place);
  }
  EXPECT_EQ(places.size(), kMany);
  EXPECT_GE(*std::next(places.begin()) - *places.begin(), sizeof(Thing));
  for (Thing* thing : things) delete thing;
}

TEST(Pool, WhatWasFreedLastIsUsedNextAndMadeAnew) {
  auto* first = new Thing;
  first->value = 8;
  delete first;
  auto* second = new Thing;
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->value, 7);
  delete second;
}

}  // namespace
}  // namespace sesame
