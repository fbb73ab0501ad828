// Writes and reads the values of a request or reply (wire.h). Both sides name the same values in
// the same order; generate_remote.py makes the code of both from core/mpi/functions.table.
//
// Neither allocates memory or owns the bytes. A message that does not fit its memory ends the
// process with a message: no argument but arrays is that long, and long arrays are passed by
// address.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sesame::remote {

constexpr size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }

class Writer {
 public:
  Writer(char* begin, size_t capacity) : begin_(begin), at_(begin), end_(begin + capacity) {}

  template <typename T>
  void put(T value) {
    static_assert(sizeof(T) <= 8);
    std::memcpy(reserve(8), &value, sizeof value);
  }
  void put_bytes(const void* data, size_t bytes) {
    char* to = reserve(padded(bytes));
    if (bytes > 0) std::memcpy(to, data, bytes);
  }
  // Null is no text.
  void put_text(const char* text) {
    const size_t bytes = text == nullptr ? 0 : std::strlen(text) + 1;
    put(bytes);
    put_bytes(text, bytes);
  }
  char* reserve(size_t bytes) {
    if (bytes > static_cast<size_t>(end_ - at_)) {
      std::fputs("sesame: an argument is too long for a rank that is a process\n", stderr);
      std::abort();
    }
    char* const place = at_;
    at_ += bytes;
    return place;
  }
  size_t bytes() const { return static_cast<size_t>(at_ - begin_); }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

 private:
  char* begin_;
  char* at_;
  char* end_;
};

class Reader {
 public:
  explicit Reader(const char* begin) : at_(begin) {}

  template <typename T>
  T get() {
    static_assert(sizeof(T) <= 8);
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += 8;
    return value;
  }
  const char* get_bytes(size_t bytes) {
    const char* const place = at_;
    at_ += padded(bytes);
    return place;
  }
  const char* get_text() {
    const auto bytes = get<size_t>();
    return bytes == 0 ? nullptr : get_bytes(bytes);
  }

 private:
  const char* at_;
};

}  // namespace sesame::remote
