// Writes and reads the values of a request or reply (wire.h). Both sides name the same values in
// the same order; generate_remote.py makes the code of both from core/mpi/functions.table.
//
// Neither allocates memory or owns the bytes. A message that does not fit its memory, or ends
// within a value, is damaged: no argument but arrays is that long, and long arrays are passed by
// address.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sesame::remote {

// Ends the job (the simulator, request_checks.cc) or the process (a rank's, connection.cc) because
// the message that it reads or writes is damaged; `what` says how.
extern "C" [[noreturn, gnu::cold, gnu::visibility("default")]] void sesame_message_is_damaged(
    const char* what);

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
  template <typename T>
  void put_object(const T& object) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(&object, sizeof object);
  }
  // Null is no text.
  void put_text(const char* text) {
    const size_t bytes = text == nullptr ? 0 : std::strlen(text) + 1;
    put(bytes);
    put_bytes(text, bytes);
  }
  char* reserve(size_t bytes) {
    if (bytes > left()) sesame_message_is_damaged("a message is too long");
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
  Reader(const char* begin, size_t bytes) : at_(begin), end_(begin + bytes) {}

  template <typename T>
  T get() {
    static_assert(sizeof(T) <= 8);
    const char* const from = get_bytes(8);
    if constexpr (std::is_same_v<T, bool>) {
      return *from != 0;
    } else {
      T value;
      std::memcpy(&value, from, sizeof value);
      return value;
    }
  }
  // Of an enumeration whose last value is `last`.
  template <typename T>
  T get_up_to(T last) {
    const T value = get<T>();
    if (value > last) sesame_message_is_damaged("a value is out of range");
    return value;
  }
  const char* get_bytes(size_t bytes) {
    if (bytes > left() || padded(bytes) > left())
      sesame_message_is_damaged("a value is longer than its message");
    const char* const place = at_;
    at_ += padded(bytes);
    return place;
  }
  template <typename T>
  T get_object() {
    static_assert(std::is_trivially_copyable_v<T>);
    T object;
    std::memcpy(&object, get_bytes(sizeof object), sizeof object);
    return object;
  }
  // Null: none.
  const char* get_text() {
    const auto bytes = get<size_t>();
    if (bytes == 0) return nullptr;
    const char* const text = get_bytes(bytes);
    if (text[bytes - 1] != '\0') sesame_message_is_damaged("a text has no end");
    return text;
  }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace sesame::remote
