#include "core/trace/parquet/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/trace/file_output.h"

namespace sesame::trace::parquet {
namespace {

// Small enough to stay in the processor's cache.
constexpr size_t kSpillBuffer = 256 << 10;

}  // namespace

Spill::~Spill() {
  if (descriptor_ < 0) return;
  if (begin_ != nullptr) munmap(const_cast<char*>(begin_), written_);
  ::close(descriptor_);
}

uint64_t Spill::append(std::string_view bytes) {
  const uint64_t at = written_ + buffer_.size();
  buffer_ += bytes;
  if (buffer_.size() >= kSpillBuffer) write_buffer();
  return at;
}

void Spill::write_buffer() {
  if (descriptor_ < 0 && !failure_) {
    std::string path = directory_ + "/.records.XXXXXX";
    descriptor_ = mkostemp(path.data(), O_CLOEXEC);
    if (descriptor_ < 0) return fail(errno);
    unlink(path.c_str());
  }
  if (!failure_) {
    if (const int failed = write_all(descriptor_, buffer_.data(), buffer_.size())) fail(failed);
  }
  written_ += buffer_.size();
  buffer_.clear();
}

void Spill::fail(int error_number) {
  if (!failure_) failure_ = write_error(directory_, error_number);
}

Result<> Spill::finish() {
  if (descriptor_ < 0 && !failure_) {
    begin_ = buffer_.data();
    return {};
  }
  write_buffer();
  if (failure_) return std::unexpected(*failure_);
  void* mapped = mmap(nullptr, written_, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (mapped == MAP_FAILED) {
    fail(errno);
    return std::unexpected(*failure_);
  }
  begin_ = static_cast<const char*>(mapped);
  return {};
}

}  // namespace sesame::trace::parquet
