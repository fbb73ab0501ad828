#include "io/sort/stamps.h"

#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "kit/gather.h"
#include "kit/phases.h"

namespace sesame::workload::sort {
namespace {

constexpr const char* kNames[] = {"start", "open",   "sync",     "read",  "sort",
                                  "ask",   "answer", "donewait", "write", "end"};

double clock_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double now_after_barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

}  // namespace

Stamps::Stamps() : zero_(now_after_barrier()) { stamp(Phase::kStart); }

void Stamps::stamp(Phase phase) {
  phases_.push_back(static_cast<double>(phase));
  begins_.push_back(MPI_Wtime() - zero_);
  clock_.push_back(clock_now());
}

void Stamps::report(Report& report) const {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> ends(begins_.begin() + 1, begins_.end());
  ends.push_back(begins_.back());
  std::vector<std::string> names;
  for (const double phase : gather(phases_)) names.push_back(kNames[static_cast<int>(phase)]);
  report.column("phase", "rank", "", gather(std::vector<double>(begins_.size(), rank)));
  report.column("phase", "phase", "", names);
  report.column("phase", "begin", "s", gather(begins_));
  report.column("phase", "end", "s", gather(ends));
  report.column("phase", "clock", "s", gather(clock_));
  const std::vector<double> process(begins_.size(), static_cast<double>(getpid()));
  report.column("phase", "process", "", gather(process));
}

std::size_t Stamps::find(Phase phase) const {
  const auto at = std::find(phases_.begin(), phases_.end(), static_cast<double>(phase));
  return static_cast<std::size_t>(at - phases_.begin());
}

double Stamps::span(Phase phase) const {
  const std::size_t at = find(phase);
  return largest(begins_[at + 1]) + largest(-begins_[at]);
}

double Stamps::end() const { return largest(begins_.back()); }

}  // namespace sesame::workload::sort
