// The synthetic system of partial differential equations that BT, SP and LU solve (NPB
// specification, RNR-94-007, 3.1 and 3.2): five coupled equations like those of a compressible
// viscous flow on the unit cube, with a polynomial as their exact solution.
//
// A state u is density, three momenta and energy. Directions 0, 1, 2 are xi, eta, zeta.
#ifndef WORKLOADS_NPB_CFD_EQUATIONS_H_
#define WORKLOADS_NPB_CFD_EQUATIONS_H_

#include <array>

namespace sesame::workload::cfd {

inline constexpr int kStates = 5;
using State = std::array<double, kStates>;

// The constants k1 to k5 of the specification.
inline constexpr double kGamma = 1.4;
inline constexpr double kPressure = 0.4;   // pressure over internal energy
inline constexpr double kViscosity = 0.1;  // k3 k4
inline constexpr double kConduction = 1.4 * 1.4;
// Second-difference dissipation of all five equations in each direction, and the coefficient of
// the fourth difference: a quarter of the largest.
inline constexpr double kDiffusion[3] = {0.75, 0.75, 1.0};
inline constexpr double kFourthDifference = 0.25;

// How much stronger viscosity acts on velocity `component` in direction `direction`.
constexpr double viscous_factor(int component, int direction) {
  return component == direction ? 4.0 / 3.0 : 1.0;
}

// Factors of central differences on a grid of `points` points a side.
struct Differences {
  double first, second;  // 1 / (2 h), 1 / h^2

  explicit constexpr Differences(int points)
      : first((points - 1) / 2.0), second(double(points - 1) * (points - 1)) {}
};

// The fourth difference at grid index `at` of `points`, one-sided beside the boundary: the weights
// of the points from at - 2 to at + 2.
constexpr std::array<double, 5> fourth_difference(int at, int points) {
  std::array<double, 5> weight = {1, -4, 6, -4, 1};
  if (at <= 2) weight[0] = 0;
  if (at >= points - 3) weight[4] = 0;
  if (at == 1) weight[1] = 0, weight[2] = 5;
  if (at == points - 2) weight[3] = 0, weight[2] = 5;
  return weight;
}

// At a point of the unit cube.
State exact_solution(double xi, double eta, double zeta);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_EQUATIONS_H_
