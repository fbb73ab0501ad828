#include "npb/cfd/verification.h"

namespace sesame::workload::cfd {

void describe(Report& report, const Class& problem, int steps, double seconds,
              const Operations& operations) {
  report.parameter("class", problem.name);
  report.parameter("grid", long{problem.grid});
  report.parameter("steps", long{steps});
  report.parameter("time step", problem.time_step);
  report.time(seconds);
  double each_step = 0;
  for (double factor : operations) each_step = each_step * problem.grid + factor;
  report.rate(each_step * steps);
}

void verify(Report& report, const Class& problem, int steps, const State& residual,
            const State& error) {
  if (steps != problem.steps) {
    report.not_verifiable("the answer is published for " + std::to_string(problem.steps) +
                          " steps");
    return;
  }
  for (int m = 0; m < kStates; ++m) {
    const std::string number = std::to_string(m + 1);
    report.check("residual " + number, residual[m], problem.residual[m], kTolerance);
  }
  for (int m = 0; m < kStates; ++m) {
    const std::string number = std::to_string(m + 1);
    report.check("error " + number, error[m], problem.error[m], kTolerance);
  }
}

}  // namespace sesame::workload::cfd
