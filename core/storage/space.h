// Space: where files are on the devices of a file system. Every cell of a file (layout.h) has
// blocks on the device of its I/O node.
#pragma once

#include <vector>

#include "core/storage/allocation.h"
#include "core/storage/layout.h"

namespace sesame::storage {

class Space {
 public:
  // `layouts` must outlive it.
  Space(const machine::StorageParameters& parameters, const Layouts& layouts);

  // Allocates or frees blocks for a file that has `before` bytes and will have `after`. Returns
  // false, and changes nothing, if a device is full.
  bool resize(FileId file, uint64_t before, uint64_t after);

  // Where a block of a cell is on its device, in blocks. A program may read blocks that were never
  // allocated (a hole): they are allocated now; on a full device address 0 stands for them.
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

// The bytes that an I/O node's device can hold, without redundancy; 0: unlimited.
uint64_t device_capacity(const machine::DeviceParameters& device);

}  // namespace sesame::storage
