// Layout: how a file is striped. As in the Vesta file system, the file is divided into units, the
// units are assigned to cells round robin, and each cell is on one I/O node. Ordinary striping is
// the case of one cell for each I/O node, with the stripe unit as unit.
//
// Offsets and sizes are bytes, of the file or of a cell as named. A new kind of layout changes only
// this file and layout.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/access.h"

namespace sesame::storage {

// A contiguous range of one cell.
struct CellRange {
  uint32_t cell = 0;
  uint64_t begin = 0;  // offset in the cell
  uint64_t bytes = 0;
};

class Layout {
 public:
  // REQUIRES: the stripe is a multiple of the block.
  explicit Layout(const machine::StorageParameters& parameters);

  uint32_t cells() const { return cells_; }
  uint32_t ionodes() const { return ionodes_; }
  uint64_t unit() const { return unit_; }

  // Consecutive cells are on consecutive I/O nodes.
  uint32_t ionode_of(uint32_t cell) const { return (first_ + cell) % ionodes_; }
  Striping striping() const { return {unit_, cells_, first_}; }

  // The offset in the file of byte `offset` of the cell. Bytes are contiguous up to the end of the
  // unit.
  uint64_t file_offset(uint32_t cell, uint64_t offset) const {
    return (offset / unit_ * cells_ + cell) * unit_ + offset % unit_;
  }
  // The range of a cell from this byte of the file up to the end of its unit.
  CellRange locate(uint64_t offset) const {
    const uint64_t unit = offset / unit_;
    return {static_cast<uint32_t>(unit % cells_), unit / cells_ * unit_ + offset % unit_,
            unit_ - offset % unit_};
  }
  // How many bytes of a file of `bytes` bytes are in the cell.
  uint64_t cell_bytes(uint32_t cell, uint64_t bytes) const;

  // Calls take(CellRange) once for each cell that has bytes of the extent. These bytes are
  // contiguous in the cell, although they may not be in the file.
  template <typename Take>
  void cut(const Extent& extent, Take take) const {
    if (extent.bytes == 0) return;
    const uint64_t first = extent.offset / unit_;
    const uint64_t end = extent.offset + extent.bytes;
    const uint64_t last = (end - 1) / unit_;
    for (uint64_t at = first; at <= last && at < first + cells_; ++at) {
      const uint64_t row = at / cells_;
      const uint64_t last_row = row + (last - at) / cells_;
      const uint64_t skipped = at == first ? extent.offset - first * unit_ : 0;
      const bool holds_end = at + (last_row - row) * cells_ == last;
      const uint64_t begin = row * unit_ + skipped;
      const uint64_t cell_end = last_row * unit_ + (holds_end ? end - last * unit_ : unit_);
      take(CellRange{static_cast<uint32_t>(at % cells_), begin, cell_end - begin});
    }
  }

 private:
  friend class Layouts;
  uint64_t unit_ = 1;
  uint32_t cells_ = 1;
  uint32_t ionodes_ = 1;
  uint32_t first_ = 0;  // the I/O node of cell 0
};

// The layouts of all files of a file system.
class Layouts {
 public:
  explicit Layouts(const machine::StorageParameters& parameters)
      : usual_(parameters), block_(parameters.block) {}

  const Layout& usual() const { return usual_; }
  const Layout& of(FileId file) const { return files_[static_cast<size_t>(file)]; }

  // Adds the file, and those of lower numbers, with the machine's layout. Files start on different
  // I/O nodes: on number FileId modulo the number of I/O nodes.
  void add(FileId file);
  // Changes the layout of an added file. Fields that are empty or invalid keep the machine's.
  void set(FileId file, const Striping& striping);

 private:
  Layout usual_;
  uint64_t block_;
  std::vector<Layout> files_;
};

}  // namespace sesame::storage
