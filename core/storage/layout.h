// Where the bytes of a file lie: cut into units that are dealt to cells in turn, as Vesta does;
// each cell lies on one I/O node. Round robin striping is the case of one cell for each I/O node of
// the file, with the stripe as unit. A layout of another kind changes this file and layout.cc only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/storage.h"
#include "core/storage/access.h"

namespace sesame::storage {

// A contiguous piece of one cell.
struct CellRange {
  uint32_t cell = 0;
  uint64_t begin = 0;  // byte of the cell
  uint64_t bytes = 0;
};

class Layout {
 public:
  explicit Layout(const machine::StorageParameters& parameters);

  uint32_t cells() const { return cells_; }
  uint32_t ionodes() const { return ionodes_; }
  uint64_t unit() const { return unit_; }

  // The next cell lies on the next I/O node.
  uint32_t ionode_of(uint32_t cell) const { return (first_ + cell) % ionodes_; }
  Striping striping() const { return {unit_, cells_, first_}; }

  // Byte of the file that is at `offset` in the cell. The bytes up to the end of the unit follow
  // it.
  uint64_t file_offset(uint32_t cell, uint64_t offset) const {
    return (offset / unit_ * cells_ + cell) * unit_ + offset % unit_;
  }
  // Where a byte of the file is; the bytes up to the end of the unit follow it.
  CellRange locate(uint64_t offset) const {
    const uint64_t unit = offset / unit_;
    return {static_cast<uint32_t>(unit % cells_), unit / cells_ * unit_ + offset % unit_,
            unit_ - offset % unit_};
  }
  // How much of a file of `bytes` bytes is in the cell.
  uint64_t cell_bytes(uint32_t cell, uint64_t bytes) const;

  // Calls take(CellRange) for each cell that has part of the extent; the parts of one cell are
  // contiguous there.
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
  uint32_t first_ = 0;  // I/O node of the first cell
};

// The layout of each file of a file system.
class Layouts {
 public:
  explicit Layouts(const machine::StorageParameters& parameters)
      : usual_(parameters), block_(parameters.block) {}

  const Layout& usual() const { return usual_; }
  const Layout& of(FileId file) const { return files_[static_cast<size_t>(file)]; }

  // A file's usual layout begins on the I/O node of its id's remainder.
  void add(FileId file);
  // What is wanted and makes sense is different from the usual.
  void set(FileId file, const Striping& striping);

 private:
  Layout usual_;
  uint64_t block_;
  std::vector<Layout> files_;
};

}  // namespace sesame::storage
