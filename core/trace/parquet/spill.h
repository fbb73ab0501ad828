// A temporary byte store: append() bytes, finish() once, then view() any of them. Up to 256 KiB
// stay in memory; more go to a file that is unlinked when it is created, so it disappears with the
// process. After finish() the file is mapped, and views are valid while the Spill exists. One
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace sesame::trace::parquet {

class Spill {
 public:
  // `directory` is where the file is created when it is needed.
  explicit Spill(std::string directory) : directory_(std::move(directory)) {}
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill();

  // Returns the offset of the bytes, for view(). After a failure bytes are dropped.
  uint64_t append(std::string_view bytes);
  // Ends writing. Returns the first error of all writes.
  Result<> finish();
  std::string_view view(uint64_t at, size_t size) const { return {begin_ + at, size}; }

  const std::optional<Error>& failure() const { return failure_; }

 private:
  void write_buffer();
  void fail(int error_number);

  std::string directory_;
  std::string buffer_;
  uint64_t written_ = 0;  // in the file
  int descriptor_ = -1;
  const char* begin_ = nullptr;  // of all, once finished
  std::optional<Error> failure_;
};

}  // namespace sesame::trace::parquet
