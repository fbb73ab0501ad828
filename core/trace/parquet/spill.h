// Bytes that are kept until they are read at the end: a few in memory, more in a file without a
// name, which goes with the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace sesame::trace::parquet {

class Spill {
 public:
  // The file is made in this directory when it is needed.
  explicit Spill(std::string directory) : directory_(std::move(directory)) {}
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;
  ~Spill();

  // Returns where they are. After a failure bytes are dropped.
  uint64_t append(std::string_view bytes);
  // Nothing is appended any more, and bytes can be viewed. The first error of all writes.
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
