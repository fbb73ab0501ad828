#include "core/base/processors.h"

#include <sched.h>

#include <cstddef>

namespace sesame {

// The kernel refuses a set for fewer processors than it has.
int usable_processors() {
  for (int most = CPU_SETSIZE; most <= 64 * CPU_SETSIZE; most *= 2) {
    cpu_set_t* const set = CPU_ALLOC(most);
    const size_t bytes = CPU_ALLOC_SIZE(most);
    const bool is_known = sched_getaffinity(0, bytes, set) == 0;
    const int count = is_known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (is_known) return count;
  }
  return 1;
}

}  // namespace sesame
