// Puts the heap on huge pages. With thousands of ranks every message touches a dozen places that
// no other message of that moment touches, and each on a page of its own costs a walk through the
// page tables.
#pragma once

#include <cstddef>

namespace sesame::sim {

// Makes the heap grow by `bytes` at once and asks for huge pages there. Memory is still taken only
// as it is touched. To be called before much is allocated; does nothing where the kernel refuses.
void back_heap_with_huge_pages(size_t bytes);

}  // namespace sesame::sim
