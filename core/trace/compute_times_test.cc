#include "core/trace/compute_times.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace sesame::trace {
namespace {

class ComputeTimesFile : public ::testing::Test {
 protected:
  ~ComputeTimesFile() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "/sesame_compute_times_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ComputeTimesFile, GivesBackWhatWasWritten) {
  ComputeTimes times{{1, 2, 3}, {}, {4000000000000}};
  ASSERT_TRUE(write_compute_times(path_, times).has_value());
  auto found = read_compute_times(path_);
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  EXPECT_EQ(*found, times);
}

TEST_F(ComputeTimesFile, IsRefusedWhenCutOffOrTooLong) {
  ASSERT_TRUE(write_compute_times(path_, {{1, 2, 3}, {4}}).has_value());
  auto size = std::filesystem::file_size(path_);
  std::filesystem::resize_file(path_, size + 8);
  EXPECT_FALSE(read_compute_times(path_).has_value());
  for (uintmax_t length = size; length-- > 0;) {
    std::filesystem::resize_file(path_, length);
    EXPECT_FALSE(read_compute_times(path_).has_value()) << length;
  }
}

TEST_F(ComputeTimesFile, IsRefusedWithANegativeTime) {
  ASSERT_TRUE(write_compute_times(path_, {{1}, {-4}}).has_value());
  auto found = read_compute_times(path_);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "a negative computation time of rank 1");
}

TEST(ComputeTimes, OfAMissingFileAreRefusedWithItsPath) {
  auto found = read_compute_times("/nonexistent/times");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().to_string(), "/nonexistent/times: cannot read: No such file or directory");
}

}  // namespace
}  // namespace sesame::trace
