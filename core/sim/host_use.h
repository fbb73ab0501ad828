// What a simulation takes of the machine that it runs on.
#pragma once

#include <cstdint>

namespace sesame::sim {

struct HostUse {
  int64_t peak_memory_bytes = 0;
  int64_t preemptions = 0;
  double cpu_time_s = 0;
  double delayed_s = 0;  // ready to run, while another process ran

  // Of processes that run at the same time.
  HostUse& operator+=(const HostUse& other);
};

// Of this process until now.
HostUse host_use();

}  // namespace sesame::sim
