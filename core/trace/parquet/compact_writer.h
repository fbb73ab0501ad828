// Encodes structs in Thrift's compact protocol, the encoding of Parquet's page headers and footers,
// and appends them to a string. Fields of a struct are written in increasing order of their
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sesame::trace::parquet {

inline void append_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Maps numbers near zero, also negative ones, to small numbers.
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

class CompactWriter {
 public:
  enum Type : uint8_t {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kInt32 = 5,
    kInt64 = 6,
    kBinary = 8,
    kList = 9,
    kStruct = 12
  };

  explicit CompactWriter(std::string* out) : out_(*out) {}

  void i32(int field, int64_t value) { number(field, kInt32, value); }
  void i64(int field, int64_t value) { number(field, kInt64, value); }
  void byte(int field, int8_t value) {
    header(field, kByte);
    out_.push_back(static_cast<char>(value));
  }
  void boolean(int field, bool value) { header(field, value ? kTrue : kFalse); }
  void text(int field, std::string_view value) {
    header(field, kBinary);
    text_element(value);
  }

  void begin_struct(int field) {
    header(field, kStruct);
    begin_element();
  }
  // A struct in a list, or the outermost one.
  void begin_element() {
    outer_.push_back(last_);
    last_ = 0;
  }
  void end_struct() {
    out_.push_back(0);
    last_ = outer_.back();
    outer_.pop_back();
  }

  // The caller must write `size` elements next.
  void begin_list(int field, Type element, size_t size) {
    header(field, kList);
    if (size < 15) {
      out_.push_back(static_cast<char>(size << 4 | element));
    } else {
      out_.push_back(static_cast<char>(0xF0 | element));
      append_varint(size, &out_);
    }
  }
  void number_element(int64_t value) { append_varint(zigzag(value), &out_); }
  void text_element(std::string_view value) {
    append_varint(value.size(), &out_);
    out_ += value;
  }

 private:
  void header(int field, Type type) {
    // Distances of up to 15, which is enough for Parquet's structs.
    out_.push_back(static_cast<char>((field - last_) << 4 | type));
    last_ = field;
  }
  void number(int field, Type type, int64_t value) {
    header(field, type);
    number_element(value);
  }

  std::string& out_;
  int last_ = 0;  // field of the struct being written
  std::vector<int> outer_;
};

}  // namespace sesame::trace::parquet
