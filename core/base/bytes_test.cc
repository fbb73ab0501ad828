#include "core/base/bytes.h"

#include <gtest/gtest.h>

namespace sesame {
namespace {

TEST(Bytes, AreReadAsTheyWereWritten) {
  ByteWriter writer;
  const std::vector<int> numbers{3, -1, 4};
  writer.put(uint8_t{7}).put_text("a path").put(-5.5).put_list(std::span<const int>(numbers));
  writer.put_text("").put_list(std::span<const int>());
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.take<uint8_t>(), 7);
  EXPECT_EQ(reader.take_text(), "a path");
  EXPECT_EQ(reader.take<double>(), -5.5);
  EXPECT_EQ(reader.take_list<int>(), numbers);
  EXPECT_EQ(reader.take_text(), "");
  EXPECT_TRUE(reader.take_list<int>().empty());
}

TEST(BytesDeathTest, ReadingPastTheEndIsABug) {
  ByteWriter writer;
  writer.put(1);
  ByteReader reader(writer.bytes());
  EXPECT_DEATH(reader.take<int64_t>(), "");
}

}  // namespace
}  // namespace sesame
