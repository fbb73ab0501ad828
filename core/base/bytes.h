// Values as bytes for another process of the same program: ByteWriter puts them one after the
// other, ByteReader takes them in the same order. A reader does not own the bytes. No errors: they
// come from a writer. One thread each.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/check.h"

namespace sesame {

class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T> ByteWriter& put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  ByteWriter& put_text(std::string_view text) {
    put(uint64_t{text.size()});
    bytes_.append(text);
    return *this;
  }
  template <typename T>
  ByteWriter& put_list(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    return *this;
  }
  std::span<const char> bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const char> bytes) : left_(bytes) {}

  template <typename T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, next(sizeof value), sizeof value);
    return value;
  }
  std::string take_text() {
    const auto size = take<uint64_t>();
    return {next(size), size};
  }
  template <typename T>
  std::vector<T> take_list() {
    std::vector<T> values(take<uint64_t>());
    const size_t size = values.size() * sizeof(T);
    if (size > 0) std::memcpy(values.data(), next(size), size);
    return values;
  }

 private:
  const char* next(size_t size) {
    CHECK(size <= left_.size());
    const char* begin = left_.data();
    left_ = left_.subspan(size);
    return begin;
  }

  std::span<const char> left_;
};

}  // namespace sesame
