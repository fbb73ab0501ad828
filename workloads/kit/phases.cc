#include "kit/phases.h"

#include <algorithm>

namespace sesame::workload {

int Phases::add(const std::string& name) {
  names_.push_back(name);
  began_.push_back(0);
  spent_.push_back(0);
  return static_cast<int>(names_.size()) - 1;
}

void Phases::reset() { std::fill(spent_.begin(), spent_.end(), 0.0); }

void Phases::report(Report& report, MPI_Comm comm) const {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  const int count = static_cast<int>(names_.size());
  std::vector<double> longest(count), mean(count);
  MPI_Reduce(spent_.data(), longest.data(), count, MPI_DOUBLE, MPI_MAX, 0, comm);
  MPI_Reduce(spent_.data(), mean.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm);
  for (double& value : mean) value /= ranks;
  report.column("phases", "phase", "", names_);
  report.column("phases", "longest", "s", longest);
  report.column("phases", "mean", "s", mean);
}

double largest(double value, MPI_Comm comm) {
  double result = value;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, comm);
  return result;
}

}  // namespace sesame::workload
