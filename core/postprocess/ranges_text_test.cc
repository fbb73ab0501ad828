#include "core/postprocess/ranges_text.h"

#include <gtest/gtest.h>

namespace sesame::postprocess {
namespace {

TEST(RangesText, WritesRunsAndSingleNumbers) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({5}), "5");
  EXPECT_EQ(ranges_text({0, 1, 2, 3, 4, 5, 6, 7}), "0-7");
  EXPECT_EQ(ranges_text({0, 2, 4, 6, 8, 10, 12, 14, 1, 3}), "0-14:2,1,3");
  EXPECT_EQ(ranges_text({0, 2}), "0,2");
  EXPECT_EQ(ranges_text({3, 2, 1}), "3,2,1");
  EXPECT_EQ(ranges_text({4, 5, 9}), "4-5,9");
  EXPECT_EQ(ranges_text({-1, 7, 7}), "-1,7,7");
}

}  // namespace
}  // namespace sesame::postprocess
