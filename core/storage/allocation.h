// Which bytes of a device belong to which cell of a file. A cell grows in place as long as what
// follows it on the device is free, else by a new extent in the first gap that is large enough, or
// by several. Whole blocks only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace sesame::storage {

class Allocation {
 public:
  struct Piece {
    uint64_t cell_block;  // the first of its blocks, counted from the begin of the cell
    uint64_t address;     // in blocks
    uint64_t blocks;
  };
  using Cell = std::vector<Piece>;

  // `capacity` in blocks; 0: without end.
  explicit Allocation(uint64_t capacity);

  static uint64_t blocks_of(const Cell& cell) {
    return cell.empty() ? 0 : cell.back().cell_block + cell.back().blocks;
  }
  // False, and nothing has changed, when there is no room.
  bool grow(Cell& cell, uint64_t blocks);
  void shrink(Cell& cell, uint64_t blocks);

  // The address of a block that the cell has, and how many of its blocks lie there in a row.
  struct Run {
    uint64_t address;
    uint64_t blocks;
  };
  static Run find(const Cell& cell, uint64_t cell_block);

 private:
  void take(std::map<uint64_t, uint64_t>::iterator gap, uint64_t blocks);

  std::map<uint64_t, uint64_t> gaps_;  // begin to length
  uint64_t free_ = 0;
};

}  // namespace sesame::storage
