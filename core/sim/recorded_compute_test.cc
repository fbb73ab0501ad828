#include "core/sim/recorded_compute.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

namespace sesame::sim {
namespace {

// The message about a file with these numbers, read for two ranks; empty if nothing is wrong.
std::string message_of(const std::vector<uint64_t>& numbers) {
  const std::string path = testing::TempDir() + "compute-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof numbers[0]));
  const auto durations = read_recorded_compute(path, 2);
  unlink(path.c_str());
  return durations ? "" : durations.error().message;
}

TEST(RecordedCompute, OfADamagedFileIsRefused) {
  const std::string damaged = "the file is damaged or cut off";
  EXPECT_EQ(message_of({2, 1, 2, 7, 8, 9}), "");
  EXPECT_EQ(message_of({2, 1, 2, 7, 8}), damaged);
  EXPECT_EQ(message_of({2, 1, uint64_t{1} << 39, 7, 8, 9}), damaged);
  EXPECT_EQ(message_of({uint64_t{1} << 60, 1, 2, 7, 8, 9}), damaged);
  EXPECT_EQ(message_of({2, 0, 2, 7, 8}), damaged);
  EXPECT_NE(message_of({}), "");
}

}  // namespace
}  // namespace sesame::sim
