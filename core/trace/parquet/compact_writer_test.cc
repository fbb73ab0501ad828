// The Thrift compact protocol, by its specification: a field header is the difference of the field
// numbers and a type, integers are zigzag varints, a struct ends with a zero byte.
#include "core/trace/parquet/compact_writer.h"

#include <gtest/gtest.h>

namespace sesame::trace::parquet {
namespace {

TEST(CompactWriter, WritesFieldsListsAndNestedStructs) {
  std::string bytes;
  CompactWriter out(&bytes);
  out.begin_element();
  out.i32(1, -3);
  out.i64(3, 300);
  out.text(4, "ab");
  out.boolean(5, false);
  out.begin_struct(10);
  out.byte(1, 7);
  out.end_struct();
  out.begin_list(11, CompactWriter::kInt32, 2);
  out.number_element(1);
  out.number_element(-1);
  out.end_struct();
  EXPECT_EQ(bytes, std::string("\x15\x05"      // 1: int32 -3
                               "\x26\xD8\x04"  // 3: int64 300
                               "\x18\x02"      // 4: text of 2 bytes
                               "ab"
                               "\x12"              // 5: false
                               "\x5C\x13\x07\x00"  // 10: struct {1: byte 7}
                               "\x19\x25\x02\x01"  // 11: list of 2 int32
                               "\x00",
                               19));
}

TEST(CompactWriter, WritesTheLengthOfLongListsBehindTheType) {
  std::string bytes;
  CompactWriter out(&bytes);
  out.begin_element();
  out.begin_list(1, CompactWriter::kBinary, 200);
  EXPECT_EQ(bytes, "\x19\xF8\xC8\x01");
}

}  // namespace
}  // namespace sesame::trace::parquet
