// A file that is written from its beginning to its end. A write that fails (a full disk) ends the
// writing; close() returns the first error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace sesame::trace {

// Writes all of it, or returns the error number.
int write_all(int descriptor, const void* data, size_t size);

Error write_error(const std::string& path, int error_number);

class FileOutput {
 public:
  // A new file, or one whose contents are replaced.
  static Result<FileOutput> create(std::string path);

  FileOutput(FileOutput&& other) noexcept;
  FileOutput& operator=(FileOutput&&) = delete;
  ~FileOutput();  // closes; an error is lost, so call close()

  void write(std::string_view bytes);
  // Of all that was written.
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
