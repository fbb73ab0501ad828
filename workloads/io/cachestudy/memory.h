// The memory that may hold cached files: of the machine, of the control group, of the processor.
#ifndef WORKLOADS_IO_CACHESTUDY_MEMORY_H_
#define WORKLOADS_IO_CACHESTUDY_MEMORY_H_

#include <string>

namespace sesame::workload {

struct Memory {
  long bytes = 0;            // that this program and its cached files may use
  std::string limited_by;    // "the machine" or "the control group PATH"
  long processor_cache = 0;  // of the last level, bytes; 0: unknown
};

Memory find_memory();

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_MEMORY_H_
