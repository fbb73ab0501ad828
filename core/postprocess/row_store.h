// A growing array of rows. A large array is in an unnamed file, so that the system can write the
// rows of a process with very many records to the disk and reuse their memory. push() invalidates
// references to rows.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace sesame::postprocess {

inline constexpr size_t kRowsInMemoryBytes = size_t{256} << 20;

template <typename Row>
class RowStore {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  // Moves the rows to a file in `directory` when they exceed `in_memory` bytes; without a directory
  // they stay in memory.
  explicit RowStore(std::string directory = {}, size_t in_memory = kRowsInMemoryBytes)
      : directory_(std::move(directory)), in_memory_(in_memory) {}
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;
  RowStore(RowStore&& other) noexcept { swap(other); }
  RowStore& operator=(RowStore&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RowStore() {
    if (rows_ != nullptr) munmap(rows_, bytes_);
    if (file_ >= 0) close(file_);
  }

  Row& push(const Row& row) {
    if (size_ == capacity_) grow();
    return rows_[size_++] = row;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Row& operator[](size_t i) { return rows_[i]; }
  const Row& operator[](size_t i) const { return rows_[i]; }
  Row& back() { return rows_[size_ - 1]; }

 private:
  void swap(RowStore& other) {
    std::swap(directory_, other.directory_);
    std::swap(in_memory_, other.in_memory_);
    std::swap(rows_, other.rows_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(bytes_, other.bytes_);
    std::swap(file_, other.file_);
  }

  void grow() {
    size_t bytes = bytes_ == 0 ? size_t{64} << 10 : 2 * bytes_;
    if (file_ < 0 && bytes > in_memory_ && !directory_.empty()) {
      move_to_file(bytes);
    } else if (file_ >= 0) {
      CHECK(ftruncate(file_, static_cast<off_t>(bytes)) == 0);
      map_again(bytes);
    } else if (rows_ == nullptr) {
      set(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
    } else {
      map_again(bytes);
    }
  }
  void map_again(size_t bytes) { set(mremap(rows_, bytes_, bytes, MREMAP_MAYMOVE), bytes); }
  void move_to_file(size_t bytes) {
    file_ = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
      if (file_ >= 0) close(file_);
      file_ = -1;
      directory_.clear();  // no space there: keep them in memory
      return map_again(bytes);
    }
    Row* old = rows_;
    size_t old_bytes = bytes_;
    set(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0), bytes);
    __builtin_memcpy(static_cast<void*>(rows_), old, size_ * sizeof(Row));
    munmap(old, old_bytes);
  }
  void set(void* memory, size_t bytes) {
    CHECK(memory != MAP_FAILED);
    madvise(memory, bytes, MADV_HUGEPAGE);  // half of the time would go into page faults
    rows_ = static_cast<Row*>(memory);
    bytes_ = bytes;
    capacity_ = bytes / sizeof(Row);
  }

  std::string directory_;
  size_t in_memory_ = kRowsInMemoryBytes;
  Row* rows_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace sesame::postprocess
