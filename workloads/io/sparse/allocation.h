// Which rank reads which pieces. `compute` gets the rows of a piece as they are in the file, while
// the next piece is being read.
#ifndef WORKLOADS_IO_SPARSE_ALLOCATION_H_
#define WORKLOADS_IO_SPARSE_ALLOCATION_H_

#include <functional>
#include <span>

#include "io/sparse/access.h"

namespace sesame::workload::sparse {

using Compute = std::function<void(std::span<const char>)>;

// Worker-worker: in cycle c a rank has piece c * ranks + rank. With Mode::kLog it has what the
// shared file pointer gives it.
void allocate_statically(Access& access, Mode mode, const Pieces& pieces, const Compute& compute);

// Manager-worker: rank 0 gives a piece to each worker that asks, and computes nothing itself; the
// first piece of a worker is that of its number. Returns the time spent waiting for messages, s.
double allocate_dynamically(Access& access, const Pieces& pieces, const Compute& compute);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_ALLOCATION_H_
