// How long requests took, over all ranks: percentiles and a histogram.
#ifndef WORKLOADS_IO_REQUESTS_LATENCIES_H_
#define WORKLOADS_IO_REQUESTS_LATENCIES_H_

#include <vector>

#include "kit/report.h"

namespace sesame::workload::requests {

// Collective: the values of all ranks, sorted, on rank 0.
std::vector<double> gather_sorted(const std::vector<double>& mine);

double mean_of(const std::vector<double>& values);

// Tables "latency" (by percentile) and "histogram" (requests by latency, in steps of a factor of
// 2). Both lists are sorted, in seconds; either may be empty.
void report_latencies(Report& report, const std::vector<double>& reads,
                      const std::vector<double>& writes);

}  // namespace sesame::workload::requests

#endif  // WORKLOADS_IO_REQUESTS_LATENCIES_H_
