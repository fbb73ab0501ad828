// The derivatives of the fluxes by the state, for the implicit solvers BT and LU (NPB
// specification, RNR-94-007, 3.2: the matrices A and N, for all directions alike). A number T is a
// double or several in vector lanes.
#ifndef WORKLOADS_NPB_CFD_JACOBIAN_H_
#define WORKLOADS_NPB_CFD_JACOBIAN_H_

#include "npb/cfd/equations.h"

namespace sesame::workload::cfd {

// The flow at the point around which the fluxes are linearised.
template <typename T>
struct LinearizationPoint {
  T velocity[3], kinetic, energy, volume;
  T enthalpy() const { return kGamma * energy - kPressure * kinetic; }
};

// The coefficient of velocity `m` in the derivative of the energy's diffusion.
constexpr double energy_factor(int m, int d) {
  return kViscosity * (viscous_factor(m, d) - kConduction);
}

// first * A x - second * (N + diffusion) x in direction d: the effect of a neighbour's change x.
template <int d, typename T>
inline void apply_coupling(const LinearizationPoint<T>& at, double first, double second,
                           const T x[kStates], T y[kStates]) {
  const T speed = at.velocity[d];
  const T drift = x[1 + d] - speed * x[0];
  T pressure = x[4] + at.kinetic * x[0];
  for (int m = 0; m < 3; ++m) pressure -= at.velocity[m] * x[1 + m];
  pressure *= kPressure;
  const double diffusion = second * kDiffusion[d];
  const T spread = second * at.volume;
  y[0] = first * x[1 + d] - diffusion * x[0];
  T heat = (kViscosity * kConduction) * (x[4] - at.energy * x[0]);
  for (int m = 0; m < 3; ++m) {
    const T change = x[1 + m] - at.velocity[m] * x[0];
    T flux = speed * x[1 + m] + at.velocity[m] * drift;
    if (m == d) flux += pressure;
    heat += energy_factor(m, d) * at.velocity[m] * change;
    y[1 + m] =
        first * flux - (kViscosity * viscous_factor(m, d)) * spread * change - diffusion * x[1 + m];
  }
  const T flux = speed * (x[4] + pressure) + at.enthalpy() * drift;
  y[4] = first * flux - spread * heat - diffusion * x[4];
}

// The same as a matrix: y[column][row].
template <int d, typename T>
inline void coupling_matrix(const LinearizationPoint<T>& at, double first, double second,
                            T y[kStates][kStates]) {
  const T speed = first * at.velocity[d];
  const T push = kPressure * at.kinetic;
  const T spread = second * at.volume;
  const double diffusion = second * kDiffusion[d];
  for (int row = 0; row < kStates; ++row) y[row][0] = y[4][row] = T{};
  y[0][0] = T{} - diffusion;
  y[1 + d][0] = T{} + first;
  T heat = (kViscosity * kConduction) * at.energy;
  for (int m = 0; m < 3; ++m) {
    const T viscous = (kViscosity * viscous_factor(m, d)) * spread;
    const T along = energy_factor(m, d) * at.velocity[m];
    y[0][1 + m] = (viscous - speed) * at.velocity[m];
    for (int l = 0; l < 3; ++l) y[1 + l][1 + m] = T{};
    y[1 + m][1 + m] = speed - viscous - diffusion;
    y[1 + m][4] = T{} - (kPressure * speed) * at.velocity[m] - spread * along;
    heat += along * at.velocity[m];
  }
  for (int m = 0; m < 3; ++m) {
    y[1 + d][1 + m] += first * at.velocity[m];
    y[1 + m][1 + d] -= (first * kPressure) * at.velocity[m];
  }
  y[0][1 + d] += first * push;
  y[4][1 + d] += first * kPressure;
  y[0][4] = speed * (push - at.enthalpy()) + spread * heat;
  y[1 + d][4] += first * at.enthalpy();
  y[4][4] = kGamma * speed - (kViscosity * kConduction) * spread - diffusion;
}

// The non-zero elements of 1 + sum over directions of factor * (N + diffusion): the first column,
// the diagonal and the last row.
template <typename T>
struct LowerMatrix {
  T first[kStates];  // [0] is the diagonal's
  T diagonal[kStates];
  T last[kStates];
};

// Adds factor * (N + diffusion) in direction d.
template <int d, typename T>
inline void add_diffusion(const LinearizationPoint<T>& at, double factor, LowerMatrix<T>& matrix) {
  const double diffusion = factor * kDiffusion[d];
  const T spread = factor * at.volume;
  T heat = (kViscosity * kConduction) * at.energy;
  for (int m = 0; m < 3; ++m) {
    const T viscous = (kViscosity * viscous_factor(m, d)) * spread;
    matrix.first[1 + m] -= viscous * at.velocity[m];
    matrix.diagonal[1 + m] += viscous + diffusion;
    matrix.last[1 + m] += energy_factor(m, d) * spread * at.velocity[m];
    heat += energy_factor(m, d) * at.velocity[m] * at.velocity[m];
  }
  matrix.diagonal[0] += diffusion;
  matrix.first[4] -= spread * heat;
  matrix.diagonal[4] += (kViscosity * kConduction) * spread + diffusion;
}

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_JACOBIAN_H_
