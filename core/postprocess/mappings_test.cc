// Compares Mappings with a table of all pages.
#include "core/postprocess/mappings.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace sesame::postprocess {
namespace {

TEST(Mappings, AgreeWithATableOfPages) {
  struct Page {
    int32_t file = -1;
    int64_t offset = 0;
  };
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Mappings mappings;
    std::array<Page, 64> pages;
    for (int step = 0; step < 60; ++step) {
      uint64_t start = random() % 60;
      uint64_t size = 1 + random() % (64 - start);
      auto file = static_cast<int32_t>(random() % 5) - 1;
      auto offset = static_cast<int64_t>(random() % 1000);
      if (file < 0) {
        mappings.remove(start, size);
      } else {
        mappings.add(start, {size, offset, file, file});
      }
      for (uint64_t i = 0; i < size; ++i) {
        pages[start + i] = {file, file < 0 ? 0 : offset + static_cast<int64_t>(i)};
      }
      for (uint64_t i = 0; i < pages.size(); ++i) {
        Mapping found = mappings.find(i);
        ASSERT_EQ(found.file, pages[i].file) << seed << " " << i;
        ASSERT_EQ(found.offset, pages[i].offset) << seed << " " << i;
      }
    }
  }
}

TEST(Mappings, MoveWithTheirOffsetInTheFile) {
  Mappings mappings;
  mappings.add(100, {50, 7, 3, 1});
  EXPECT_FALSE(mappings.move(200, 300, 10));
  EXPECT_TRUE(mappings.move(110, 300, 100));
  EXPECT_EQ(mappings.find(310).offset, 27);
  EXPECT_EQ(mappings.find(120).file, -1);
  EXPECT_EQ(mappings.find(105).file, 3);
}

}  // namespace
}  // namespace sesame::postprocess
