// An ideal gas: density, velocity, pressure, and what is conserved of them.
#ifndef WORKLOADS_ESS_PPM_GAS_H_
#define WORKLOADS_ESS_PPM_GAS_H_

#include <array>
#include <cmath>

namespace sesame::workload {

constexpr double kGamma = 1.4;

// Along a line of cells: `u` is the velocity along it, `v` across.
struct Gas {
  double density, u, v, pressure;
  double sound() const { return std::sqrt(kGamma * pressure / density); }
};

// Density, momentum along, momentum across, energy; each for a unit of volume.
using Conserved = std::array<double, 4>;

inline Conserved to_conserved(const Gas& gas) {
  const double kinetic = 0.5 * gas.density * (gas.u * gas.u + gas.v * gas.v);
  return {gas.density, gas.density * gas.u, gas.density * gas.v,
          gas.pressure / (kGamma - 1) + kinetic};
}

inline Gas to_gas(const Conserved& c) {
  const double u = c[1] / c[0], v = c[2] / c[0];
  return {c[0], u, v, (kGamma - 1) * (c[3] - 0.5 * c[0] * (u * u + v * v))};
}

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_PPM_GAS_H_
