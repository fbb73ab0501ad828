#include "io/requests/latencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kit/gather.h"

namespace sesame::workload::requests {
namespace {

constexpr double kPercents[] = {0, 10, 25, 50, 75, 90, 95, 99, 99.9, 100};
constexpr double kFirstStep_s = 1e-7;

// The smallest value that at least so many per cent of the values do not exceed.
double percentile(const std::vector<double>& sorted, double percent) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::max(0L, static_cast<long>(rank) - 1)];
}

// Of the values in (above, up_to].
double count_between(const std::vector<double>& sorted, double above, double up_to) {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), above);
  const auto last = std::upper_bound(sorted.begin(), sorted.end(), up_to);
  return static_cast<double>(last - first);
}

void report_percentiles(Report& report, const std::vector<double>& reads,
                        const std::vector<double>& writes) {
  std::vector<double> of_reads, of_writes;
  for (double percent : kPercents) {
    of_reads.push_back(percentile(reads, percent));
    of_writes.push_back(percentile(writes, percent));
  }
  report.column("latency", "percentile", "%",
                std::vector<double>(std::begin(kPercents), std::end(kPercents)));
  report.column("latency", "read", "s", of_reads);
  report.column("latency", "write", "s", of_writes);
}

}  // namespace

std::vector<double> gather_sorted(const std::vector<double>& mine) {
  std::vector<double> all = gather(mine);
  std::sort(all.begin(), all.end());
  return all;
}

double mean_of(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

void report_latencies(Report& report, const std::vector<double>& reads,
                      const std::vector<double>& writes) {
  report_percentiles(report, reads, writes);
  const double slowest = std::max(percentile(reads, 100), percentile(writes, 100));
  std::vector<double> steps, of_reads, of_writes;
  double above = -1;
  for (double step = kFirstStep_s;; step *= 2) {
    steps.push_back(step);
    of_reads.push_back(count_between(reads, above, step));
    of_writes.push_back(count_between(writes, above, step));
    above = step;
    if (step >= slowest) break;
  }
  report.column("histogram", "up to", "s", steps);
  report.column("histogram", "reads", "", of_reads);
  report.column("histogram", "writes", "", of_writes);
}

}  // namespace sesame::workload::requests
