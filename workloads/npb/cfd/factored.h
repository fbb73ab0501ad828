// Time steps by approximate factorisation, as BT and SP make them: the residual, then one system
// along the lines of each direction, then the sum. Solver: see line_sweep.h; its kNeedsSpeedOfSound
// states whether it needs the speed of sound.
#ifndef WORKLOADS_NPB_CFD_FACTORED_H_
#define WORKLOADS_NPB_CFD_FACTORED_H_

#include <mpi.h>

#include <string>

#include "kit/phases.h"
#include "npb/cfd/line_sweep.h"
#include "npb/cfd/verification.h"

namespace sesame::workload::cfd {

template <typename Solver>
class Factored {
 public:
  Factored(const std::string& program, const Class& problem)
      : time_step_(problem.time_step),
        domain_(multi_partition(program, problem.grid)),
        exchange_(domain_),
        solver_(problem.grid, problem.time_step),
        sweep_(domain_) {
    for (Subdomain& subdomain : domain_.subdomains) {
      set_forcing(subdomain);
      set_initial_state(subdomain);
    }
  }
  Factored(const Factored&) = delete;
  Factored& operator=(const Factored&) = delete;

  void step() {
    update(time_step_);
    timed(xi_, [&] { sweep_.template run<0>(solver_); });
    timed(eta_, [&] { sweep_.template run<1>(solver_); });
    timed(zeta_, [&] { sweep_.template run<2>(solver_); });
    timed(add_, [&] {
      for (Subdomain& subdomain : domain_.subdomains) add_residual(subdomain, 1);
    });
  }

  // Checks the state against the published norms. Collective.
  void finish(Report& report, const Class& problem, int steps) {
    phases_.report(report);
    const State error = error_norms(domain_);
    update(1);
    verify(report, problem, steps, residual_norms(domain_), error);
  }

  const Domain& domain() const { return domain_; }
  Phases& phases() { return phases_; }

 private:
  // residual = scale * the spatial operator applied to the state
  void update(double scale) {
    timed(faces_, [&] { exchange_.run(); });
    timed(residual_, [&] {
      for (Subdomain& subdomain : domain_.subdomains) {
        update_flow(subdomain, Solver::kNeedsSpeedOfSound);
        update_residual(subdomain, scale);
      }
    });
  }

  template <typename Do>
  void timed(int phase, Do&& act) {
    Phases::Scope scope(phases_, phase);
    act();
  }

  double time_step_;
  Domain domain_;
  Exchange exchange_;
  Solver solver_;
  LineSweep<Solver> sweep_;
  Phases phases_;
  const int faces_ = phases_.add("exchange faces"), residual_ = phases_.add("residual"),
            xi_ = phases_.add("solve xi"), eta_ = phases_.add("solve eta"),
            zeta_ = phases_.add("solve zeta"), add_ = phases_.add("add");
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_FACTORED_H_
