#include "core/base/pool.h"

#include <sys/mman.h>

#include <cstdlib>

#include "core/base/check.h"

namespace sesame {

void* allocate_block(size_t bytes, size_t alignment) {
  constexpr size_t kHugePage = 2 << 20;
  const bool is_huge = bytes >= kHugePage;
  const size_t unit = is_huge ? kHugePage : alignment;
  const size_t whole = (bytes + unit - 1) / unit * unit;
  void* block = std::aligned_alloc(unit, whole);
  CHECK(block != nullptr);
  if (is_huge) madvise(block, whole, MADV_HUGEPAGE);
  return block;
}

}  // namespace sesame
