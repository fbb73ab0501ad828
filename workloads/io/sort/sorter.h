// The sort of the SESAME report (7.1), which is inefficient on purpose: every rank sorts its own
// numbers by heap sort; neighbours whose lists overlap trade a portion of their highest and lowest
// numbers and sort again, until no lists overlap.
#ifndef WORKLOADS_IO_SORT_SORTER_H_
#define WORKLOADS_IO_SORT_SORTER_H_

#include <vector>

#include "io/sort/stamps.h"

namespace sesame::workload::sort {

class Sorter {
 public:
  // `portion`: the most of a rank's numbers that it trades at once, in (0, 1].
  Sorter(std::vector<double>& numbers, double portion, Stamps& stamps);

  // Collective.
  void run();

  long rounds() const { return rounds_; }
  // Of this rank with the rank below.
  long trades() const { return trades_; }
  long traded() const { return traded_; }  // numbers sent down

 private:
  void sort();
  bool ask();
  bool answer();
  void settle(int neighbour, bool keep_low, int count);

  std::vector<double>& numbers_;
  double portion_;
  Stamps& stamps_;
  int rank_ = 0, ranks_ = 1;
  long rounds_ = 0, trades_ = 0, traded_ = 0;
};

}  // namespace sesame::workload::sort

#endif  // WORKLOADS_IO_SORT_SORTER_H_
