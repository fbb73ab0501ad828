// The data that a replay writes. The data of a traced run are not recorded; a file system can
// notice only how compressible they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/replay/plan.h"

namespace sesame::replay {

constexpr size_t kBufferAlignment = 4096;  // enough for direct I/O

struct Unmap {
  size_t size = 0;
  void operator()(char* data) const;
};
using Buffer = std::unique_ptr<char, Unmap>;

// Aligned memory with all its pages present. Ends the program with status 2, that of
// wrong input, if there is no memory.
Buffer make_buffer(size_t size);

// The data that all threads write. Consecutive operations start at different blocks of it.
class PayloadData {
 public:
  // `largest`: bytes of the largest operation.
  PayloadData(Payload payload, size_t largest);

  const char* data(uint64_t operation) const {
    return data_.get() + (operation % kStarts) * kBufferAlignment;
  }
  const char* text() const { return text_.get(); }  // printable, without a zero byte at the end

 private:
  static constexpr size_t kStarts = 256;
  Buffer data_;
  Buffer text_;
};

}  // namespace sesame::replay
