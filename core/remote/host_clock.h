// The clock by which the simulator waits for ranks' processes.
#pragma once

#include <time.h>

#include <cstdint>

namespace sesame::remote {

// CLOCK_MONOTONIC, ns. For any thread.
inline int64_t host_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace sesame::remote
