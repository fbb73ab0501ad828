// Time by phase, from MPI_Wtime, over all ranks.
//
//   Phases phases;
//   const int solve = phases.add("solve");
//   { Phases::Scope scope(phases, solve); … }
//   phases.report(report);   // collective; table "phases" with maximum and mean over the ranks
#ifndef WORKLOADS_KIT_PHASES_H_
#define WORKLOADS_KIT_PHASES_H_

#include <mpi.h>

#include <string>
#include <vector>

#include "kit/report.h"

namespace sesame::workload {

class Phases {
 public:
  // A phase's number. Every rank adds the same phases in the same order.
  int add(const std::string& name);
  void start(int phase) { began_[phase] = MPI_Wtime(); }
  void stop(int phase) { spent_[phase] += MPI_Wtime() - began_[phase]; }
  void reset();

  // This rank's time, s.
  double spent(int phase) const { return spent_[phase]; }
  void report(Report& report, MPI_Comm comm = MPI_COMM_WORLD) const;

  class Scope {
   public:
    Scope(Phases& phases, int phase) : phases_(phases), phase_(phase) { phases.start(phase); }
    ~Scope() { phases_.stop(phase_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Phases& phases_;
    int phase_;
  };

 private:
  std::vector<std::string> names_;
  std::vector<double> began_, spent_;
};

// The largest value of all ranks, on all ranks.
double largest(double value, MPI_Comm comm = MPI_COMM_WORLD);

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_PHASES_H_
