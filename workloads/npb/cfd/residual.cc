// The spatial operator: central differences of the fluxes, second differences for viscosity and
// conduction, second and fourth differences for stability (NPB specification, RNR-94-007, 3.2).
#include "npb/cfd/piece.h"

namespace sesame::workload::cfd {
namespace {

constexpr double second_difference(double low, double middle, double high) {
  return low - 2 * middle + high;
}

// What direction d adds to the residual of `count` points in a row, whose neighbours in that
// direction are `step` points away.
template <int d>
void add_fluxes(const double* u, const Flow* flow, double* out, int count, long step,
                const Differences& h) {
  const double first = h.first;
  const double viscosity = kViscosity * h.second;
  const double diffusion = kDiffusion[d] * h.second;
  for (int i = 0; i < count; ++i, u += kStates, ++flow, out += kStates) {
    const double *low = u - kStates * step, *high = u + kStates * step;
    const Flow &a = flow[-step], &b = *flow, &c = flow[step];
    const double speed_low = a.velocity[d], speed = b.velocity[d], speed_high = c.velocity[d];
    double sum[kStates];
    for (int m = 0; m < kStates; ++m) {
      sum[m] = diffusion * second_difference(low[m], u[m], high[m]);
    }
    sum[0] -= first * (high[1 + d] - low[1 + d]);
    for (int m = 0; m < 3; ++m) {
      double flux = high[1 + m] * speed_high - low[1 + m] * speed_low;
      if (m == d) flux += c.pressure - a.pressure;
      sum[1 + m] += viscosity * viscous_factor(m, d) *
                        second_difference(a.velocity[m], b.velocity[m], c.velocity[m]) -
                    first * flux;
    }
    const double heat = (1 - kConduction) * second_difference(a.kinetic, b.kinetic, c.kinetic) +
                        (1.0 / 6) * second_difference(speed_low * speed_low, speed * speed,
                                                      speed_high * speed_high) +
                        kConduction * second_difference(a.energy, b.energy, c.energy);
    sum[4] += viscosity * heat -
              first * ((high[4] + c.pressure) * speed_high - (low[4] + a.pressure) * speed_low);
    for (int m = 0; m < kStates; ++m) out[m] += sum[m];
  }
}

// Subtracts the fourth difference from `count` points that have the same weights.
void damp(const double* u, double* out, int count, long step,
          const std::array<double, 5>& difference) {
  std::array<double, 5> w = difference;
  for (double& weight : w) weight *= kFourthDifference;
  const long s = kStates * step;
  for (int at = 0; at < kStates * count; ++at) {
    out[at] -= w[0] * u[at - 2 * s] + w[1] * u[at - s] + w[2] * u[at] + w[3] * u[at + s] +
               w[4] * u[at + 2 * s];
  }
}

// Along the row the weights change beside the boundary only.
void damp_along(const Piece& piece, int begin, int end, const double* u, double* out) {
  for (int i = begin; i < end;) {
    const int at = piece.begin[0] + i;
    const bool inside = at > 2 && at < piece.grid - 3;
    const int count = inside ? std::min(end, piece.grid - 3 - piece.begin[0]) - i : 1;
    const long offset = kStates * (i - begin);
    damp(u + offset, out + offset, count, 1, fourth_difference(at, piece.grid));
    i += count;
  }
}

}  // namespace

void update_residual(Piece& piece, double scale) {
  const Differences h(piece.grid);
  const auto& stride = piece.state_at.stride;
  const int begin = piece.inner_begin(0), end = piece.inner_end(0), count = end - begin;
  for (int k = piece.inner_begin(2); k < piece.inner_end(2); ++k) {
    for (int j = piece.inner_begin(1); j < piece.inner_end(1); ++j) {
      const long row = piece.state_at.at(begin, j, k);
      const long target = kStates * piece.residual_at.at(begin, j, k);
      const double* u = &piece.state[kStates * row];
      const Flow* flow = &piece.flow[row];
      double* out = &piece.residual[target];
      std::copy_n(&piece.forcing[target], kStates * count, out);
      add_fluxes<0>(u, flow, out, count, stride[0], h);
      add_fluxes<1>(u, flow, out, count, stride[1], h);
      add_fluxes<2>(u, flow, out, count, stride[2], h);
      damp_along(piece, begin, end, u, out);
      damp(u, out, count, stride[1], fourth_difference(piece.begin[1] + j, piece.grid));
      damp(u, out, count, stride[2], fourth_difference(piece.begin[2] + k, piece.grid));
      for (int at = 0; at < kStates * count; ++at) out[at] *= scale;
    }
  }
}

}  // namespace sesame::workload::cfd
