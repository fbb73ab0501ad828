// The exact solution of Riemann's problem, two states of a gas side by side: E. Toro, Riemann
// Solvers and Numerical Methods for Fluid Dynamics, chapter 4. Used for verification only.
#ifndef WORKLOADS_ESS_PPM_SHOCK_TUBE_H_
#define WORKLOADS_ESS_PPM_SHOCK_TUBE_H_

#include "ess/ppm/gas.h"

namespace sesame::workload {

class ShockTube {
 public:
  ShockTube(const Gas& left, const Gas& right);

  // The state at position / time, where the two states touched at position 0 at time 0.
  Gas at(double speed) const;

  double pressure() const { return pressure_; }  // between the waves
  double velocity() const { return velocity_; }

 private:
  Gas side(const Gas& gas, double direction, double speed) const;

  Gas left_, right_;
  double pressure_ = 0, velocity_ = 0;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_PPM_SHOCK_TUBE_H_
