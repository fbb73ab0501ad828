// A file that is written sequentially, through a buffer of 256 KiB. After a write that fails (a
// full disk) further bytes are dropped; close() returns the first error. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace sesame::trace {

// Writes all bytes; returns 0 or errno.
int write_all(int descriptor, const void* data, size_t size);

// The Error for errno of a write to this path, with a hint when the disk is full.
Error write_error(const std::string& path, int error_number);

class FileOutput {
 public:
  // Creates the file, or truncates an existing one.
  static Result<FileOutput> create(std::string path);

  FileOutput(FileOutput&& other) noexcept;
  FileOutput& operator=(FileOutput&&) = delete;
  ~FileOutput();  // closes; an error is lost, so call close()

  void write(std::string_view bytes);
  // Bytes given to write() so far.
  uint64_t size() const { return size_; }
  Result<> close();

 private:
  FileOutput(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void flush();

  std::string path_;
  int descriptor_;
  std::string buffer_;
  uint64_t size_ = 0;
  std::optional<Error> failure_;
};

}  // namespace sesame::trace
