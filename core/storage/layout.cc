#include "core/storage/layout.h"

#include <algorithm>

#include "core/base/check.h"

namespace sesame::storage {

Layout::Layout(const machine::StorageParameters& parameters)
    : ionodes_(static_cast<uint32_t>(std::max(parameters.ionodes, 1))) {
  if (parameters.ionodes == 0) {  // node-local: a single unit
    unit_ = UINT64_C(1) << 60;
    return;
  }
  const bool vesta = parameters.layout == machine::StripingLayout::kVesta;
  const int cells = vesta ? parameters.vesta_cells : parameters.stripe_factor;
  unit_ = vesta ? parameters.vesta_bsu : parameters.stripe;
  cells_ = cells > 0 ? static_cast<uint32_t>(cells) : ionodes_;
  // A block must not span I/O nodes.
  CHECK(unit_ > 0 && unit_ % parameters.block == 0);
}

uint64_t Layout::cell_bytes(uint32_t cell, uint64_t bytes) const {
  const uint64_t units = bytes / unit_;
  const uint64_t whole = units / cells_ + (units % cells_ > cell ? 1 : 0);
  return whole * unit_ + (units % cells_ == cell ? bytes % unit_ : 0);
}

void Layouts::add(FileId file) {
  for (size_t next = files_.size(); next <= static_cast<size_t>(file); ++next) {
    files_.push_back(usual_);
    set(static_cast<FileId>(next), {});
  }
}

void Layouts::set(FileId file, const Striping& striping) {
  Layout& layout = files_[static_cast<size_t>(file)];
  layout = usual_;
  layout.first_ = static_cast<uint32_t>(file) % usual_.ionodes_;
  if (striping.unit > 0 && striping.unit % block_ == 0) layout.unit_ = striping.unit;
  if (striping.factor > 0) layout.cells_ = std::min(striping.factor, layout.ionodes_);
  if (striping.first && *striping.first < layout.ionodes_) layout.first_ = *striping.first;
}

}  // namespace sesame::storage
