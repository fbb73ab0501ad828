#include "core/postprocess/columns.h"

#include <gtest/gtest.h>

#include <vector>

namespace sesame::postprocess {
namespace {

class ColumnsTest : public testing::Test {
 protected:
  ColumnsTest() {
    for (int64_t i = 0; i < 300; ++i) {
      MpiRow row;
      row.begin = 10 * i;
      row.bytes = i;
      rows_.push(row);
    }
    origin_.rank = 7;
    origin_.calls = &calls_;
  }

  RowStore<MpiRow> rows_;
  std::vector<int32_t> calls_{4};
  RowOrigin origin_;
};

TEST_F(ColumnsTest, RowsAreAppendedInTheOrderGiven) {
  MpiColumns columns(302);
  columns.append(origin_, rows_, nullptr, 0, 300);
  const std::vector<uint32_t> order{5, 3, 1};
  columns.append(origin_, rows_, order.data(), 1, 2);
  ASSERT_EQ(columns.rows, 302u);
  EXPECT_EQ(columns.bytes.data()[299], 299);
  EXPECT_EQ(columns.bytes.data()[300], 3);
  EXPECT_EQ(columns.begin_ns.data()[301], 10);
  EXPECT_EQ(columns.rank.data()[301], 7u);
  EXPECT_EQ(columns.call.data()[301], 4);
}

TEST_F(ColumnsTest, AppendRefusesMoreRowsThanThereIsSpaceFor) {
  MpiColumns columns(100);
  columns.append(origin_, rows_, nullptr, 0, 60);
  EXPECT_DEATH(columns.append(origin_, rows_, nullptr, 0, 41), "capacity");
}

}  // namespace
}  // namespace sesame::postprocess
