// Bandwidth of reading, writing and copying memory over the size of what is worked on.
#ifndef WORKLOADS_SYSTEM_MEMORY_STREAMS_H_
#define WORKLOADS_SYSTEM_MEMORY_STREAMS_H_

#include <cstdint>
#include <vector>

namespace sesame::workload {

struct Bandwidths {
  double read, write, copy;  // bytes/s of the working set: a copy reads half and writes half
  long wrong;                // sums and copies that were not as expected
};

class Streams {
 public:
  // Working sets have up to `most` bytes.
  explicit Streams(long most);
  // The best of `repeat` samples. `bytes` is a multiple of 128, at least 128.
  Bandwidths measure(long bytes, int repeat);

 private:
  std::vector<std::uint64_t> data_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_SYSTEM_MEMORY_STREAMS_H_
