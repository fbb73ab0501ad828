// What the disks can do: large records, first of one rank alone, then of all at the same time.
#ifndef WORKLOADS_IO_NHT1_PEAK_H_
#define WORKLOADS_IO_NHT1_PEAK_H_

#include <string>

#include "kit/report.h"

namespace sesame::workload::nht1 {

struct PeakPlan {
  long bytes = 16 << 20;  // of each rank
  long record = 1 << 20;
};

// Throws UsageError, on all ranks alike.
void check(const PeakPlan& plan);

// Collective. Files are in `directory`. Adds figures, and a check of what is read back.
void measure_peak(Report& report, const PeakPlan& plan, const std::string& directory);

}  // namespace sesame::workload::nht1

#endif  // WORKLOADS_IO_NHT1_PEAK_H_
