#include "core/trace/file_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sesame::trace {
namespace {

constexpr size_t kOutputBuffer = 256 << 10;

}  // namespace

int write_all(int descriptor, const void* data, size_t size) {
  auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

Error write_error(const std::string& path, int error_number) {
  std::string hint;
  if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "the disk is full: free some space, or write the data set elsewhere with -o";
  }
  return Error{std::string("cannot write: ") + std::strerror(error_number), hint, path, 0};
}

Result<FileOutput> FileOutput::create(std::string path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return std::unexpected(write_error(path, errno));
  return FileOutput(std::move(path), descriptor);
}

FileOutput::FileOutput(FileOutput&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      buffer_(std::move(other.buffer_)),
      size_(other.size_),
      failure_(std::move(other.failure_)) {}

FileOutput::~FileOutput() { (void)close(); }

void FileOutput::write(std::string_view bytes) {
  size_ += bytes.size();
  buffer_ += bytes;
  if (buffer_.size() >= kOutputBuffer) flush();
}

void FileOutput::flush() {
  if (!failure_) {
    const int failed = write_all(descriptor_, buffer_.data(), buffer_.size());
    if (failed != 0) failure_ = write_error(path_, failed);
  }
  buffer_.clear();
}

Result<> FileOutput::close() {
  if (descriptor_ >= 0) {
    flush();
    if (::close(std::exchange(descriptor_, -1)) != 0 && !failure_) {
      failure_ = write_error(path_, errno);
    }
  }
  if (failure_) return std::unexpected(*failure_);
  return {};
}

}  // namespace sesame::trace
