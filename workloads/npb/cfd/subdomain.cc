#include "npb/cfd/subdomain.h"

#include <cmath>

namespace sesame::workload::cfd {
namespace {

template <typename Do>
void for_points(const Subdomain& subdomain, int ghosts, Do&& act) {
  for (int k = -ghosts; k < subdomain.size[2] + ghosts; ++k) {
    for (int j = -ghosts; j < subdomain.size[1] + ghosts; ++j) {
      for (int i = -ghosts; i < subdomain.size[0] + ghosts; ++i) act(i, j, k);
    }
  }
}

void put_state(Subdomain& subdomain, int i, int j, int k, const State& u) {
  std::copy(u.begin(), u.end(), &subdomain.state[kStates * subdomain.state_at.at(i, j, k)]);
}

// Along one direction, linear between the exact solution on the two faces.
State between_faces(const std::array<double, 3>& place, int d) {
  std::array<double, 3> low = place, high = place;
  low[d] = 0;
  high[d] = 1;
  const State a = exact_solution(low[0], low[1], low[2]);
  const State b = exact_solution(high[0], high[1], high[2]);
  State u;
  for (int m = 0; m < kStates; ++m) u[m] = (1 - place[d]) * a[m] + place[d] * b[m];
  return u;
}

State interpolate(const std::array<double, 3>& place) {
  const State x = between_faces(place, 0);
  const State y = between_faces(place, 1);
  const State z = between_faces(place, 2);
  State u;
  for (int m = 0; m < kStates; ++m) {
    u[m] = x[m] + y[m] + z[m] - x[m] * y[m] - y[m] * z[m] - z[m] * x[m] + x[m] * y[m] * z[m];
  }
  return u;
}

bool on_boundary(const Subdomain& subdomain, const Index& at) {
  for (int d = 0; d < 3; ++d) {
    const int global = subdomain.begin[d] + at[d];
    if (global == 0 || global == subdomain.grid - 1) return true;
  }
  return false;
}

}  // namespace

// States start as 1, not 0: ghosts outside the cube are divided by, although never used.
Subdomain::Subdomain(int grid, const Index& layer, const Index& begin, const Index& size,
                     int residual_ghosts)
    : grid(grid),
      layer(layer),
      begin(begin),
      size(size),
      state_at(size, kGhosts),
      residual_at(size, residual_ghosts),
      state(kStates * state_at.points, 1.0),
      flow(state_at.points),
      residual(kStates * residual_at.points),
      forcing(kStates * residual_at.points) {}

void set_initial_state(Subdomain& subdomain) {
  for_points(subdomain, 0, [&](int i, int j, int k) {
    const std::array<double, 3> at = {subdomain.coordinate(0, i), subdomain.coordinate(1, j),
                                      subdomain.coordinate(2, k)};
    const bool fixed = on_boundary(subdomain, {i, j, k});
    put_state(subdomain, i, j, k, fixed ? exact_solution(at[0], at[1], at[2]) : interpolate(at));
  });
}

void set_forcing(Subdomain& subdomain) {
  for_points(subdomain, Subdomain::kGhosts, [&](int i, int j, int k) {
    put_state(subdomain, i, j, k,
              exact_solution(subdomain.coordinate(0, i), subdomain.coordinate(1, j),
                             subdomain.coordinate(2, k)));
  });
  update_flow(subdomain, false);
  std::fill(subdomain.forcing.begin(), subdomain.forcing.end(), 0.0);
  update_residual(subdomain, -1);
  subdomain.forcing = subdomain.residual;
}

void update_flow(Subdomain& subdomain, bool with_sound) {
  for (int k = -1; k <= subdomain.size[2]; ++k) {
    for (int j = -1; j <= subdomain.size[1]; ++j) {
      const long row = subdomain.state_at.at(-1, j, k);
      const double* u = &subdomain.state[kStates * row];
      Flow* flow = &subdomain.flow[row];
      for (int i = 0; i < subdomain.size[0] + 2; ++i, u += kStates, ++flow) {
        const double volume = 1 / u[0];
        const double x = volume * u[1], y = volume * u[2], z = volume * u[3];
        const double kinetic = 0.5 * (x * x + y * y + z * z);
        flow->velocity[0] = x;
        flow->velocity[1] = y;
        flow->velocity[2] = z;
        flow->kinetic = kinetic;
        flow->pressure = kPressure * (u[4] - kinetic * u[0]);
        flow->energy = volume * u[4];
        flow->volume = volume;
        if (with_sound) flow->sound = std::sqrt(kGamma * volume * flow->pressure);
      }
    }
  }
}

void add_residual(Subdomain& subdomain, double factor) {
  for (int k = subdomain.inner_begin(2); k < subdomain.inner_end(2); ++k) {
    for (int j = subdomain.inner_begin(1); j < subdomain.inner_end(1); ++j) {
      const int begin = subdomain.inner_begin(0);
      double* u = &subdomain.state[kStates * subdomain.state_at.at(begin, j, k)];
      const double* r = &subdomain.residual[kStates * subdomain.residual_at.at(begin, j, k)];
      const int count = kStates * (subdomain.inner_end(0) - begin);
      for (int at = 0; at < count; ++at) u[at] += factor * r[at];
    }
  }
}

}  // namespace sesame::workload::cfd
