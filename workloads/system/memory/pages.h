// The virtual-memory test: memory is touched page by page, first written, then read.
#ifndef WORKLOADS_SYSTEM_MEMORY_PAGES_H_
#define WORKLOADS_SYSTEM_MEMORY_PAGES_H_

namespace sesame::workload {

struct PageTimes {
  double first, second;  // of a whole pass, s
  long wrong;            // pages that did not hold what was written
};

long page_bytes();

// Writes one byte to each of `pages` fresh pages, then reads it back. Throws std::bad_alloc.
PageTimes touch_pages(long pages);

}  // namespace sesame::workload

#endif  // WORKLOADS_SYSTEM_MEMORY_PAGES_H_
