#include "core/storage/allocation.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"

namespace sesame::storage {
namespace {

constexpr uint64_t kUnlimited = UINT64_C(1) << 62;

}  // namespace

Allocation::Allocation(uint64_t capacity) : free_(capacity == 0 ? kUnlimited : capacity) {
  gaps_.emplace(0, free_);
}

void Allocation::allocate(std::map<uint64_t, uint64_t>::iterator gap, uint64_t blocks) {
  const auto [begin, length] = *gap;
  gaps_.erase(gap);
  if (length > blocks) gaps_.emplace(begin + blocks, length - blocks);
  free_ -= blocks;
}

bool Allocation::grow(Cell& cell, uint64_t blocks) {
  uint64_t have = blocks_of(cell);
  if (blocks <= have) return true;
  if (blocks - have > free_) return false;
  if (!cell.empty()) {
    const auto next = gaps_.find(cell.back().address + cell.back().blocks);
    if (next != gaps_.end()) {
      const uint64_t more = std::min(blocks - have, next->second);
      allocate(next, more);
      cell.back().blocks += more;
      have += more;
    }
  }
  while (have < blocks) {
    auto gap = std::ranges::find_if(
        gaps_, [&](const auto& candidate) { return candidate.second >= blocks - have; });
    if (gap == gaps_.end())
      gap = std::ranges::max_element(gaps_, {}, [](auto& g) { return g.second; });
    const uint64_t more = std::min(blocks - have, gap->second);
    cell.push_back({have, gap->first, more});
    allocate(gap, more);
    have += more;
  }
  return true;
}

void Allocation::shrink(Cell& cell, uint64_t blocks) {
  while (blocks_of(cell) > blocks) {
    BlockExtent& last = cell.back();
    const uint64_t kept = last.cell_block < blocks ? blocks - last.cell_block : 0;
    uint64_t begin = last.address + kept;
    uint64_t length = last.blocks - kept;
    free_ += length;
    auto after = gaps_.lower_bound(begin);
    if (after != gaps_.end() && after->first == begin + length) {
      length += after->second;
      after = gaps_.erase(after);
    }
    if (after != gaps_.begin() && std::prev(after)->first + std::prev(after)->second == begin) {
      std::prev(after)->second += length;
    } else {
      gaps_.emplace(begin, length);
    }
    last.blocks = kept;
    if (kept == 0) cell.pop_back();
  }
}

Allocation::Run Allocation::find(const Cell& cell, uint64_t cell_block) {
  const BlockExtent* found = &cell.front();
  if (cell.size() > 1) {
    found = &*std::prev(std::ranges::upper_bound(cell, cell_block, {}, &BlockExtent::cell_block));
  }
  CHECK(cell_block - found->cell_block < found->blocks);
  const uint64_t skipped = cell_block - found->cell_block;
  return {found->address + skipped, found->blocks - skipped};
}

}  // namespace sesame::storage
