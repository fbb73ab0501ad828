#include "kit/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sesame::workload {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& action) {
  throw FileError(path + ": cannot " + action + ": " + std::strerror(errno));
}

std::string place(std::size_t bytes, long offset) {
  return std::to_string(bytes) + " bytes at byte " + std::to_string(offset);
}

}  // namespace

File File::open(const std::string& path, int flags) {
  File file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (file.descriptor_ < 0) fail(path, flags & O_CREAT ? "create" : "open");
  return file;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void File::write(const void* data, std::size_t bytes, long offset) const {
  const char* from = static_cast<const char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const long at = offset + static_cast<long>(done);
    const ssize_t count = ::pwrite(descriptor_, from + done, bytes - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "write " + place(bytes, offset));
    done += static_cast<std::size_t>(count);
  }
}

void File::read(void* data, std::size_t bytes, long offset) const {
  char* to = static_cast<char*>(data);
  for (std::size_t done = 0; done < bytes;) {
    const long at = offset + static_cast<long>(done);
    const ssize_t count = ::pread(descriptor_, to + done, bytes - done, at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "read " + place(bytes, offset));
    if (count == 0) {
      throw FileError(path_ + ": cannot read " + place(bytes, offset) + ": the file ends at byte " +
                      std::to_string(at));
    }
    done += static_cast<std::size_t>(count);
  }
}

void File::sync() const {
  if (::fsync(descriptor_) != 0) fail(path_, "sync to the disk");
}

void File::drop_cache() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

long File::size() const {
  struct stat status;
  if (::fstat(descriptor_, &status) != 0) fail(path_, "get the size");
  return status.st_size;
}

void File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) fail(path_, "close");
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) fail(path, "remove");
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail(from, "rename to " + to);
}

}  // namespace sesame::workload
