// The spatial operator: central differences of the fluxes, second differences for viscosity and
// conduction, second and fourth differences for stability (NPB specification, RNR-94-007, 3.2).
#include "npb/cfd/subdomain.h"

namespace sesame::workload::cfd {
namespace {

constexpr double second_difference(double low, double middle, double high) {
  return low - 2 * middle + high;
}

// Factors of the differences, times the scale of the residual.
struct Factors {
  double first, viscosity, diffusion[3], fourth;

  Factors(int grid, double scale) {
    const Differences h(grid);
    first = scale * h.first;
    viscosity = scale * kViscosity * h.second;
    for (int d = 0; d < 3; ++d) diffusion[d] = scale * kDiffusion[d] * h.second;
    fourth = scale * kFourthDifference;
  }
};

// Adds the differences of fluxes in direction d to the residual of `count` points in a row, whose
// neighbours in that direction are `step` points away.
template <int d>
void add_fluxes(const double* u, const Flow* flow, double* __restrict out, int count, long step,
                const Factors& factor) {
  const double first = factor.first, viscosity = factor.viscosity;
  for (int i = 0; i < count; ++i, u += kStates, ++flow, out += kStates) {
    const double *low = u - kStates * step, *high = u + kStates * step;
    const Flow &a = flow[-step], &b = *flow, &c = flow[step];
    const double speed_low = a.velocity[d], speed = b.velocity[d], speed_high = c.velocity[d];
    out[0] -= first * (high[1 + d] - low[1 + d]);
    for (int m = 0; m < 3; ++m) {
      double flux = high[1 + m] * speed_high - low[1 + m] * speed_low;
      if (m == d) flux += c.pressure - a.pressure;
      out[1 + m] += viscosity * viscous_factor(m, d) *
                        second_difference(a.velocity[m], b.velocity[m], c.velocity[m]) -
                    first * flux;
    }
    const double heat = (1 - kConduction) * second_difference(a.kinetic, b.kinetic, c.kinetic) +
                        (1.0 / 6) * second_difference(speed_low * speed_low, speed * speed,
                                                      speed_high * speed_high) +
                        kConduction * second_difference(a.energy, b.energy, c.energy);
    out[4] += viscosity * heat -
              first * ((high[4] + c.pressure) * speed_high - (low[4] + a.pressure) * speed_low);
  }
}

// Weights of the second and fourth differences that all five equations have, at grid index `at`.
std::array<double, 5> dissipation(const Factors& factor, int d, int at, int grid) {
  std::array<double, 5> weight = fourth_difference(at, grid);
  for (double& w : weight) w *= -factor.fourth;
  weight[1] += factor.diffusion[d];
  weight[2] -= 2 * factor.diffusion[d];
  weight[3] += factor.diffusion[d];
  return weight;
}

// out = scale * forcing + dissipation, for `count` points in a row that have the same weights. All
// arrays are contiguous, so that the compiler makes one vector loop of it.
void dissipate(const double* u, const double* forcing, double* __restrict out, int count,
               const std::array<long, 3>& stride, double scale,
               const std::array<std::array<double, 5>, 3>& weights) {
  const auto &x = weights[0], &y = weights[1], &z = weights[2];
  const long sx = kStates * stride[0], sy = kStates * stride[1], sz = kStates * stride[2];
  const double centre = x[2] + y[2] + z[2];
  for (int at = 0; at < kStates * count; ++at) {
    const double* p = u + at;
    out[at] = scale * forcing[at] + centre * p[0] +  //
              x[0] * p[-2 * sx] + x[1] * p[-sx] + x[3] * p[sx] + x[4] * p[2 * sx] +
              y[0] * p[-2 * sy] + y[1] * p[-sy] + y[3] * p[sy] + y[4] * p[2 * sy] +
              z[0] * p[-2 * sz] + z[1] * p[-sz] + z[3] * p[sz] + z[4] * p[2 * sz];
  }
}

// A row along xi: there the weights change beside the boundary only.
void dissipate_row(const Subdomain& subdomain, int j, int k, const Factors& factor, double scale,
                   double* out) {
  const int grid = subdomain.grid, begin = subdomain.inner_begin(0), end = subdomain.inner_end(0);
  const auto weights_eta = dissipation(factor, 1, subdomain.begin[1] + j, grid);
  const auto weights_zeta = dissipation(factor, 2, subdomain.begin[2] + k, grid);
  const double* u = &subdomain.state[kStates * subdomain.state_at.at(begin, j, k)];
  const double* forcing = &subdomain.forcing[kStates * subdomain.residual_at.at(begin, j, k)];
  for (int i = begin; i < end;) {
    const int at = subdomain.begin[0] + i;
    const bool inside = at > 2 && at < grid - 3;
    const int count = inside ? std::min(end, grid - 3 - subdomain.begin[0]) - i : 1;
    const long offset = kStates * (i - begin);
    dissipate(u + offset, forcing + offset, out + offset, count, subdomain.state_at.stride, scale,
              {dissipation(factor, 0, at, grid), weights_eta, weights_zeta});
    i += count;
  }
}

}  // namespace

void update_residual(Subdomain& subdomain, double scale) {
  const Factors factor(subdomain.grid, scale);
  const auto& stride = subdomain.state_at.stride;
  const int begin = subdomain.inner_begin(0), count = subdomain.inner_end(0) - begin;
  if (count <= 0) return;
  for (int k = subdomain.inner_begin(2); k < subdomain.inner_end(2); ++k) {
    for (int j = subdomain.inner_begin(1); j < subdomain.inner_end(1); ++j) {
      const long row = subdomain.state_at.at(begin, j, k);
      const double* u = &subdomain.state[kStates * row];
      const Flow* flow = &subdomain.flow[row];
      double* out = &subdomain.residual[kStates * subdomain.residual_at.at(begin, j, k)];
      dissipate_row(subdomain, j, k, factor, scale, out);
      add_fluxes<0>(u, flow, out, count, stride[0], factor);
      add_fluxes<1>(u, flow, out, count, stride[1], factor);
      add_fluxes<2>(u, flow, out, count, stride[2], factor);
    }
  }
}

}  // namespace sesame::workload::cfd
