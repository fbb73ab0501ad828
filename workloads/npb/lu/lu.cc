// NPB pseudo-application LU (NPB specification, RNR-94-007, 3.3.3): symmetric successive
// over-relaxation, whose triangular sweeps run as waves through the grid and the ranks.
#include <mpi.h>

#include <string>

#include "kit/phases.h"
#include "kit/program.h"
#include "npb/cfd/verification.h"
#include "npb/lu/ssor.h"
#include "npb/lu/surface_integral.h"

namespace sesame::workload::cfd {
namespace {

constexpr Operations kOperations = {1984.77, -10923.3, 27770.9, -144010.0};
constexpr Class kClasses[] = {
    {"S",
     12,
     50,
     5.0e-1,
     {1.6196343210976702e-02, 2.1976745164821318e-03, 1.5179927653399185e-03,
      1.5029584435994323e-03, 3.4264073155896461e-02},
     {6.4223319957960924e-04, 8.4144342047347926e-05, 5.8588269616485186e-05,
      5.8474222595157350e-05, 1.3103347914111294e-03},
     7.8418928865937083e+00},
    {"W",
     33,
     300,
     1.5e-3,
     {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01, 0.2326187750252e+01,
      0.2826799444189e+02},
     {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01, 0.8570126542733e-01,
      0.1084277417792e+01},
     0.1161399311023e+02},
    {"A",
     64,
     250,
     2.0e+0,
     {7.7902107606689367e+02, 6.3402765259692870e+01, 1.9499249727292479e+02,
      1.7845301160418537e+02, 1.8384760349464247e+03},
     {2.9964085685471943e+01, 2.8194576365003349e+00, 7.3473412698774742e+00,
      6.7139225687777051e+00, 7.0715315688392578e+01},
     2.6030925604886277e+01},
    {"B",
     102,
     250,
     2.0e+0,
     {3.5532672969982736e+03, 2.6214750795310692e+02, 8.8333721850952190e+02,
      7.7812774739425265e+02, 7.3087969592545314e+03},
     {1.1401176380212709e+02, 8.1098963655421574e+00, 2.8480597317698308e+01,
      2.5905394567832939e+01, 2.6054907504857413e+02},
     4.7887162703308227e+01},
};

class Lu {
 public:
  explicit Lu(const Class& problem)
      : time_step_(problem.time_step),
        domain_(pencils("lu", problem.grid)),
        exchange_(domain_),
        ssor_(domain_, problem.time_step) {
    set_forcing(subdomain());
    set_initial_state(subdomain());
  }
  Lu(const Lu&) = delete;
  Lu& operator=(const Lu&) = delete;

  void step() {
    update(time_step_);
    timed(up_, [&] { ssor_.sweep_up(); });
    timed(down_, [&] { ssor_.sweep_down(); });
    timed(add_, [&] { add_residual(subdomain(), Ssor::factor()); });
  }

  // Checks the state against the published answers. Collective.
  void finish(Report& report, const Class& problem, int steps) {
    phases_.report(report);
    update(1);
    verify(report, problem, steps, residual_norms(domain_), error_norms(domain_));
    if (steps != problem.steps) return;
    report.check("surface integral", surface_integral(domain_), problem.surface_integral,
                 kTolerance);
  }

 private:
  // residual = scale * the spatial operator applied to the state
  void update(double scale) {
    timed(faces_, [&] { exchange_.run(); });
    timed(residual_, [&] {
      update_flow(subdomain(), false);
      update_residual(subdomain(), scale);
    });
  }

  template <typename Do>
  void timed(int phase, Do&& act) {
    Phases::Scope scope(phases_, phase);
    act();
  }

  Subdomain& subdomain() { return domain_.subdomains[0]; }

  double time_step_;
  Domain domain_;
  Exchange exchange_;
  Ssor ssor_;
  Phases phases_;
  const int faces_ = phases_.add("exchange faces"), residual_ = phases_.add("residual"),
            up_ = phases_.add("sweep up"), down_ = phases_.add("sweep down"),
            add_ = phases_.add("add");
};

void run(Report& report, const std::string& name, int steps) {
  const Class& problem = find_class(kClasses, name);
  if (steps <= 0) steps = problem.steps;
  Lu lu(problem);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int step = 0; step < steps; ++step) lu.step();
  describe(report, problem, steps, largest(MPI_Wtime() - began), kOperations);
  lu.finish(report, problem, steps);
}

}  // namespace
}  // namespace sesame::workload::cfd

int main(int argc, char** argv) {
  sesame::workload::Program program("lu", "NPB pseudo-application LU: symmetric over-relaxation");
  std::string name = "S";
  int steps = 0;
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  program.arguments().add("--steps", steps, "time steps; 0: as published for the class");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::cfd::run(report, name, steps);
  });
}
