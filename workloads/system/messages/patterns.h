// All ranks send at once, each to one other: neighbours, random pairs, every rank to every other.
#ifndef WORKLOADS_SYSTEM_MESSAGES_PATTERNS_H_
#define WORKLOADS_SYSTEM_MESSAGES_PATTERNS_H_

#include <string>
#include <vector>

#include "kit/report.h"

namespace sesame::workload {

// Adds the tables neighbours, random_pairs and all_pairs: what a rank sends per second while it
// receives as much. Collective. Messages that came from another rank than expected count as wrong.
void measure_patterns(Report& report, const std::vector<int>& sizes, int repeat, long seed);

}  // namespace sesame::workload

#endif  // WORKLOADS_SYSTEM_MESSAGES_PATTERNS_H_
