// Disk-directed I/O (Kotz 1994): the I/O nodes know all that the ranks of a collective call want.
// Each sorts it by device address, joins what is next to each other, and moves the data between its
// device and the ranks by two buffers in turn, past all caches.
#pragma once

#include <span>

#include "core/storage/context.h"

namespace sesame::storage {

class Directed {
 public:
  explicit Directed(FileSystemContext& context) : context_(context) {}
  void begin(SimTime now, std::span<const Access> accesses, Completion& completion);

 private:
  FileSystemContext& context_;
};

}  // namespace sesame::storage
