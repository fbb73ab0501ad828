// Time stamps of one rank as it passes from one activity to the next (SESAME report, 7.1).
#ifndef WORKLOADS_IO_SORT_STAMPS_H_
#define WORKLOADS_IO_SORT_STAMPS_H_

#include <vector>

#include "kit/report.h"

namespace sesame::workload::sort {

enum class Phase { kStart, kOpen, kSync, kRead, kSort, kAsk, kAnswer, kDoneWait, kWrite, kEnd };

class Stamps {
 public:
  // Collective. Times count from here, where all ranks leave a barrier, and kStart begins.
  Stamps();

  // A phase lasts until the next stamp; kEnd ends at once.
  void stamp(Phase phase);

  // Collective. Table "phase": every phase of every rank.
  void report(Report& report) const;

  // Collective. From the first rank's begin to the last rank's end of a phase that each rank has
  // once, s.
  double span(Phase phase) const;
  // Collective. The last rank's kEnd, s.
  double end() const;

 private:
  std::size_t find(Phase phase) const;

  double zero_;
  std::vector<double> phases_, begins_;
  std::vector<double> clock_;  // of the node at each begin: that of records of the kernel
};

}  // namespace sesame::workload::sort

#endif  // WORKLOADS_IO_SORT_STAMPS_H_
