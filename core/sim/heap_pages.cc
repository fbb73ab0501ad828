#include "core/sim/heap_pages.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

namespace sesame::sim {

void back_heap_with_huge_pages(size_t bytes) {
  constexpr uintptr_t kHugePage = 2 << 20;
  if (bytes > INT_MAX) bytes = INT_MAX;
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, static_cast<int>(bytes));
  const uintptr_t before = reinterpret_cast<uintptr_t>(sbrk(0));
  // Too large for what the heap holds now, too small to be mapped on its own: the heap grows.
  constexpr size_t kBelowMapThreshold = 120 * 1024;
  void* grown[3];
  for (void*& block : grown) block = malloc(kBelowMapThreshold);
  const uintptr_t after = reinterpret_cast<uintptr_t>(sbrk(0));
  for (void* block : grown) free(block);
  mallopt(M_TOP_PAD, 16 << 20);
  const uintptr_t first = (before + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = after / kHugePage * kHugePage;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace sesame::sim
