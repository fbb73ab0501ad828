// The published answers of BT, SP and LU, and the common part of their reports.
#ifndef WORKLOADS_NPB_CFD_VERIFICATION_H_
#define WORKLOADS_NPB_CFD_VERIFICATION_H_

#include "kit/classes.h"
#include "kit/report.h"
#include "npb/cfd/domain.h"

namespace sesame::workload::cfd {

struct Class {
  const char* name;
  int grid;  // points a side
  int steps;
  double time_step;
  State residual, error;      // published norms
  double surface_integral{};  // LU only
};

inline constexpr double kTolerance = 1e-8;

// How NPB 3 counts operations: a polynomial of the points a side, highest power first, for a step.
using Operations = std::array<double, 4>;

// Parameters, time and rate. `steps` were made in `seconds`.
void describe(Report& report, const Class& problem, int steps, double seconds,
              const Operations& operations);

// Compares norms, if the run was the published one. Collective.
void verify(Report& report, const Class& problem, int steps, const State& residual,
            const State& error);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_VERIFICATION_H_
