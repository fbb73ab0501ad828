// Memory that grows in place: reserves address space for the largest size and makes the front of it
// usable on demand, so objects keep their addresses. Used by one thread.
#pragma once

#include <cstddef>

namespace sesame {

class ReservedBlock {
 public:
  // Reserves `most_bytes`, rounded up to huge pages (2 MiB), to which data() is aligned. Ends the
  // program when there is no address space.
  explicit ReservedBlock(size_t most_bytes);
  ~ReservedBlock();
  ReservedBlock(const ReservedBlock&) = delete;
  ReservedBlock& operator=(const ReservedBlock&) = delete;

  void* data() const { return begin_; }

  // Makes the first `bytes` usable; new bytes are zero. False when that is more than was reserved,
  // or the system has no memory.
  [[nodiscard]] bool extend_to(size_t bytes);

 private:
  void* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
  char* begin_ = nullptr;
  size_t most_bytes_ = 0;
  size_t usable_bytes_ = 0;
};

}  // namespace sesame
