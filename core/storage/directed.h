// Disk-directed I/O (Kotz 1994). Each I/O node knows what all ranks of a collective call access. It
// sorts these ranges by device address, joins adjacent ones, and moves the data between its device
// and the ranks. Caches are bypassed: dirty blocks are flushed before, and a write drops cached
// copies.
//
// Each I/O node uses two buffers in turn (double buffering), so the device works on one while
// messages fill or empty the other.
#pragma once

#include <span>

#include "core/storage/context.h"

namespace sesame::storage {

class Directed {
 public:
  explicit Directed(FileSystemContext& context) : context_(context) {}
  // FileSystem::access_directed(). All accesses have the same direction.
  void begin(SimTime now, std::span<const Access> accesses, Completion& completion);

 private:
  FileSystemContext& context_;
};

}  // namespace sesame::storage
