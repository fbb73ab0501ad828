// One measured pass over a matrix: read, compress, multiply; and its times.
#ifndef WORKLOADS_IO_SPARSE_MEASUREMENT_H_
#define WORKLOADS_IO_SPARSE_MEASUREMENT_H_

#include <array>
#include <string>
#include <vector>

#include "io/sparse/access.h"
#include "io/sparse/products.h"
#include "kit/report.h"

namespace sesame::workload::sparse {

// What a rank counts; times in seconds.
enum Count { kReads, kRows, kNonzeros, kSeek, kRead, kCompress, kMultiply, kMessages, kTotal };
constexpr int kCounts = kTotal + 1;
using Counts = std::array<double, kCounts>;

struct Plan {
  std::string interface;
  Mode mode;
  bool dynamic;
  long rows_each;       // of a read
  bool cold;            // the file is dropped from the page cache first
  double product_time;  // s to wait for each nonzero and vector, beside the computation
};

struct Measurement {
  std::vector<Counts> ranks;  // on rank 0
  std::size_t workers = 0;    // the last of the ranks; a manager is the first
  long rows_right = 0;
  double compressed_bytes = 0;

  double longest(Count count) const;
  // Over the workers.
  double mean(Count count) const;
  double total(Count count) const;
  // Longest computation over the mean.
  double imbalance() const;
  // The seeking, and the longer of computing and reading, of the slowest rank.
  double estimate() const;
};

// Collective.
Measurement measure(const Plan& plan, const ExtendedFile& file, const Vectors& vectors,
                    const RowSource& source);

// Tables "ranks" and "phases", the longest and the mean of the workers.
void report_ranks(Report& report, const Measurement& measurement);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_MEASUREMENT_H_
