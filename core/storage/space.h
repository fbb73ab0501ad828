// The room that files take on the devices of a file system: every cell of a file has blocks on the
// device of its I/O node.
#pragma once

#include <vector>

#include "core/storage/allocation.h"
#include "core/storage/layout.h"

namespace sesame::storage {

class Space {
 public:
  // The layouts live longer.
  Space(const machine::StorageParameters& parameters, const Layouts& layouts);

  // Makes room for a file that had `before` bytes and is to have `after`. False, and nothing has
  // changed, when a device is full.
  bool resize(FileId file, uint64_t before, uint64_t after);

  // Where a block of a cell is, in blocks of the device. A program can get at blocks that nobody
  // made room for (a hole that is read): they get their place now, on a full device its begin.
  Allocation::Run find(FileId file, uint32_t cell, uint64_t cell_block);

 private:
  Allocation::Cell& cell_of(FileId file, uint32_t cell);
  Allocation& device_of(FileId file, uint32_t cell) {
    return devices_[layouts_.of(file).ionode_of(cell)];
  }
  bool grow(FileId file, uint64_t before, uint64_t after);
  void shrink(FileId file, uint64_t bytes);

  const Layouts& layouts_;
  uint64_t block_;
  std::vector<Allocation> devices_;
  std::vector<std::vector<Allocation::Cell>> files_;  // by cell
};

// What an I/O node's device holds, redundancy aside; 0: without end.
uint64_t device_capacity(const machine::DeviceParameters& device);

}  // namespace sesame::storage
