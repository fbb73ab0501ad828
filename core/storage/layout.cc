#include "core/storage/layout.h"

#include <algorithm>

namespace sesame::storage {

Result<Layout> Layout::create(const machine::StorageParameters& parameters) {
  const bool vesta = parameters.layout == machine::Layout::kVesta;
  const int ionodes = std::max(parameters.ionodes, 1);
  Layout layout;
  layout.ionodes_ = static_cast<uint32_t>(ionodes);
  if (parameters.ionodes == 0) {  // a node's own: all in one piece
    layout.unit_ = UINT64_C(1) << 60;
    return layout;
  }
  layout.unit_ = vesta ? parameters.vesta_bsu : parameters.stripe;
  const char* unit_name = vesta ? "basic striping unit" : "stripe";
  if (layout.unit_ == 0 || parameters.block == 0 || layout.unit_ % parameters.block != 0) {
    return error(std::string("the ") + unit_name + " of a file system must be whole blocks, got " +
                     format_size(layout.unit_) + " with blocks of " + format_size(parameters.block),
                 std::string("choose a smaller block or a larger ") + unit_name);
  }
  if (!vesta && parameters.stripe_factor > ionodes) {
    return error("a file cannot be striped over more I/O nodes than there are: " +
                     std::to_string(parameters.stripe_factor) + " of " + std::to_string(ionodes),
                 "lower stripe_factor, or leave it out to use all");
  }
  const int wanted = vesta ? parameters.vesta_cells : parameters.stripe_factor;
  layout.cells_ = static_cast<uint32_t>(wanted > 0 ? wanted : ionodes);
  return layout;
}

uint64_t Layout::cell_bytes(uint32_t cell, uint64_t bytes) const {
  const uint64_t units = bytes / unit_;
  const uint64_t whole = units / cells_ + (units % cells_ > cell ? 1 : 0);
  return whole * unit_ + (units % cells_ == cell ? bytes % unit_ : 0);
}

}  // namespace sesame::storage
