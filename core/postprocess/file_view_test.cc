#include "core/postprocess/file_view.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sesame::postprocess {
namespace {

// A view made from a record whose runs are in `memory`.
FileView view_of(int64_t size, int64_t extent, const std::vector<int64_t>& runs,
                 std::vector<unsigned char>& memory) {
  memory.resize(8 * runs.size());
  if (!runs.empty()) std::memcpy(memory.data(), runs.data(), memory.size());
  trace::mpi_view_record record;
  record.displacement = 1000;
  record.etype_size = 4;
  record.filetype_size = size;
  record.filetype_extent = extent;
  record.runs = {reinterpret_cast<trace::Bytes>(memory.data()),
                 static_cast<uint32_t>(2 * runs.size())};
  return FileView(record);
}

TEST(FileView, BytesLieInTheBlocksOfTheirRuns) {
  std::vector<unsigned char> memory;
  // Three blocks of 4 at 8, 24 and 40; one of 8 at 60: 20 bytes of 80.
  const FileView view = view_of(20, 80, {8, 4, 3, 16, 60, 8, 1, 0}, memory);
  const std::vector<int64_t> positions = {8,  9,  10, 11, 24, 25, 26, 27, 40, 41,
                                          42, 43, 60, 61, 62, 63, 64, 65, 66, 67};
  for (int64_t data = 0; data < 60; ++data) {
    EXPECT_EQ(view.file_offset(data),
              1000 + data / 20 * 80 + positions[static_cast<size_t>(data % 20)]);
  }
  EXPECT_TRUE(view.has_holes());
  EXPECT_TRUE(view.is_contiguous(4, 4));
  EXPECT_FALSE(view.is_contiguous(4, 5));
  EXPECT_TRUE(view.is_contiguous(33, 7));
  EXPECT_EQ(view.text(), "8+4x3/16,60+8");
}

TEST(FileView, ABlockOfTheWholeFiletypeHasNoHoles) {
  std::vector<unsigned char> memory;
  const FileView view = view_of(80, 80, {0, 80, 1, 0}, memory);
  EXPECT_FALSE(view.has_holes());
  EXPECT_TRUE(view.is_contiguous(40, 4000));
  EXPECT_EQ(view.file_offset(100), 1100);
}

TEST(FileView, RunsThatDoNotGiveTheFiletypesSizeAreNotUsed) {
  std::vector<unsigned char> memory;
  for (const auto& runs : std::vector<std::vector<int64_t>>{
           {0, 8, 1, 0}, {0, INT64_MAX, 3, 8}, {0, -8, 1, 0}, {0, 20, 0, 0}, {}}) {
    const FileView view = view_of(20, 80, runs, memory);
    EXPECT_EQ(view.text(), "");
    EXPECT_EQ(view.file_offset(25), 1085);
    EXPECT_FALSE(view.is_contiguous(0, 4));
  }
}

}  // namespace
}  // namespace sesame::postprocess
