// Allocation: the space allocator of one device. It gives blocks of the device to the cells of
// files (layout.h). A cell grows in place while the blocks after its last extent are free.
// Otherwise it gets a new extent in the first gap that is large enough, or, if there is none,
// several extents, the largest gaps first.
//
// All quantities are numbers of blocks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace sesame::storage {

class Allocation {
 public:
  struct BlockExtent {
    uint64_t cell_block;  // first block, counted from the start of the cell
    uint64_t address;     // first block on the device
    uint64_t blocks;
  };
  // The extents of one cell, in the order of the cell. Owned by the caller.
  using Cell = std::vector<BlockExtent>;

  // A capacity of 0 means unlimited.
  explicit Allocation(uint64_t capacity);

  static uint64_t blocks_of(const Cell& cell) {
    return cell.empty() ? 0 : cell.back().cell_block + cell.back().blocks;
  }
  // Grows the cell to `blocks` blocks. Returns false, and changes nothing, if the device is full.
  bool grow(Cell& cell, uint64_t blocks);
  // Frees the blocks of the cell from number `blocks` on.
  void shrink(Cell& cell, uint64_t blocks);

  // Where a block of the cell is, and how many blocks of the cell follow contiguously, that one
  // included. REQUIRES: the cell has the block.
  struct Run {
    uint64_t address;
    uint64_t blocks;
  };
  static Run find(const Cell& cell, uint64_t cell_block);

 private:
  void allocate(std::map<uint64_t, uint64_t>::iterator gap, uint64_t blocks);

  std::map<uint64_t, uint64_t> gaps_;  // first free block to length
  uint64_t free_ = 0;
};

}  // namespace sesame::storage
