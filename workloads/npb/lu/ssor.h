// LU's solver: one step of symmetric successive over-relaxation (SSOR) on the linearised equations,
// by two triangular sweeps through the grid. Each plane of zeta can start as soon as the neighbours
// have sent the edges of theirs, so that a wave runs through the ranks.
#ifndef WORKLOADS_NPB_LU_SSOR_H_
#define WORKLOADS_NPB_LU_SSOR_H_

#include <vector>

#include "npb/cfd/domain.h"

namespace sesame::workload::cfd {

class Ssor {
 public:
  Ssor(Domain& domain, double time_step);

  // Turn the residual (times the time step) into the change of the state, in place. flow must be
  // that of the state. Collective.
  void sweep_up();
  void sweep_down();

  // The factor of the change that is added to the state.
  static constexpr double factor() { return 1 / (kRelaxation * (2 - kRelaxation)); }

 private:
  static constexpr double kRelaxation = 1.2;

  template <int side>
  void sweep_plane(int k);
  void receive_edges(int k, int side);
  void send_edges(int k, int side);
  void copy_edge(int d, int at, int k, bool into_subdomain);

  Subdomain& subdomain_;
  int neighbour_[2][2];
  double first_, second_;  // factors of differences, times the time step
  std::vector<double> edge_;
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_LU_SSOR_H_
