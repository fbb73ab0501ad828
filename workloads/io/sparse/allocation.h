// Which rank reads which chunks. `compute` gets the rows of a chunk as they are in the file, while
// the next chunk is being read.
#ifndef WORKLOADS_IO_SPARSE_ALLOCATION_H_
#define WORKLOADS_IO_SPARSE_ALLOCATION_H_

#include <functional>
#include <span>

#include "io/sparse/access.h"

namespace sesame::workload::sparse {

using Compute = std::function<void(std::span<const char>)>;

// Worker-worker: in cycle c a rank has chunk c * ranks + rank. With Mode::kLog it has what the
// shared file pointer gives it.
void allocate_statically(Access& access, Mode mode, const RowChunks& chunks,
                         const Compute& compute);

// Manager-worker: rank 0 gives a chunk to each worker that asks, and computes nothing itself; the
// first chunk of a worker is that of its number. Returns the time spent waiting for messages, s.
double allocate_dynamically(Access& access, const RowChunks& chunks, const Compute& compute);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_ALLOCATION_H_
