// A gas on a plane grid, distributed over ranks in slabs of rows. Sweeps along rows and columns
// alternate; before one along columns, ranks exchange the rows at their borders. Results do not
// depend on the number of ranks.
#ifndef WORKLOADS_ESS_PPM_FLOW_H_
#define WORKLOADS_ESS_PPM_FLOW_H_

#include <mpi.h>

#include <functional>
#include <vector>

#include "ess/ppm/line.h"
#include "kit/phases.h"
#include "kit/ranks.h"

namespace sesame::workload {

enum class Border { kPeriodic, kOutflow };

class Flow {
 public:
  // Cells are squares of this size; the state is that at their centres, x along rows. All functions
  // are collective over the communicator, which must outlive the flow.
  Flow(MPI_Comm comm, long width, long height, double cell, Border border,
       const std::function<Gas(double x, double y)>& state);

  // One step as long as `limit` and the stability of the method permit; returns its length.
  double step(double limit);

  Block rows() const { return rows_; }
  const Conserved& at(long x, long row) const { return cells_[(row - rows_.begin) * width_ + x]; }
  // Over the whole plane; added up row by row.
  Conserved totals() const;
  void report(Report& report) const { phases_.report(report); }

 private:
  double longest_step() const;
  void sweep_rows(double ratio);
  void sweep_columns(double ratio);
  void exchange();

  MPI_Comm comm_;
  long width_, height_;
  double cell_;
  Border border_;
  Block rows_;
  int rank_ = 0, ranks_ = 1, steps_ = 0;
  std::vector<Conserved> cells_;
  std::vector<Conserved> below_, above_;  // rows of the neighbours, or what is beyond the border
  Phases phases_;
  int exchange_phase_, sweep_phase_, step_phase_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_PPM_FLOW_H_
