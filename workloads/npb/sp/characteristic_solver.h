// SP's solver along lines: in characteristic variables (Pulliam and Chaussee) the five equations
// come apart into pentadiagonal systems of single numbers, three of which have the same matrix.
#ifndef WORKLOADS_NPB_SP_CHARACTERISTIC_SOLVER_H_
#define WORKLOADS_NPB_SP_CHARACTERISTIC_SOLVER_H_

#include <numbers>

#include "npb/cfd/lanes.h"

namespace sesame::workload::cfd {

class CharacteristicSolver {
 public:
  static constexpr bool kNeedsSpeedOfSound = true;
  // Waves with the speeds v, v + a and v - a: a matrix for each.
  static constexpr int kWaves = 3;
  // A point of a line after elimination: x = change - near * (x of the next point) - far * (x of
  // the point after that).
  struct Row {
    Lanes near[kWaves], far[kWaves];
    Lanes change[kStates];
  };
  struct Forward {
    Row last_but_one, last;
  };
  struct Backward {
    Lanes next[kStates], after[kStates];
  };

  CharacteristicSolver(int grid, double time_step)
      : first_(time_step * Differences(grid).first),
        second_(time_step * Differences(grid).second),
        fourth_(time_step * kFourthDifference) {}

  template <int d>
  void forward(Subdomain& subdomain, const Batch& batch, int length, Forward& carry,
               Row* rows) const {
    const long step = subdomain.state_at.stride[d];
    Waves low = waves<d>(subdomain, batch, -step);
    Waves middle = waves<d>(subdomain, batch, 0);
    for (int i = 0; i < length; ++i) {
      const Waves high = waves<d>(subdomain, batch, (i + 1) * step);
      const int at = subdomain.begin[d] + subdomain.inner_begin(d) + i;
      load<d>(subdomain, batch, i, rows[i].change);
      eliminate(low, middle, high, fourth_difference(at, subdomain.grid), carry, rows[i]);
      carry.last_but_one = carry.last;
      carry.last = rows[i];
      low = middle;
      middle = high;
    }
  }

  template <int d>
  void backward(Subdomain& subdomain, const Batch& batch, int length, Backward& carry,
                const Row* rows) const {
    for (int i = length - 1; i >= 0; --i) {
      Lanes x[kStates];
      for (int m = 0; m < kStates; ++m) {
        const int wave = wave_of(m);
        x[m] = rows[i].change[m] - rows[i].near[wave] * carry.next[m] -
               rows[i].far[wave] * carry.after[m];
        carry.after[m] = carry.next[m];
        carry.next[m] = x[m];
      }
      store<d>(subdomain, batch, i, x);
    }
  }

 private:
  // What the matrices are made of at a point.
  struct Waves {
    Lanes speed[kWaves];
    Lanes spread;
  };

  static constexpr int wave_of(int equation) { return equation < 3 ? 0 : equation - 2; }

  template <int d>
  static Waves waves(const Subdomain& subdomain, const Batch& batch, long shift) {
    Lanes speed, sound, volume;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Flow& flow = subdomain.flow[batch.state_at[lane] + shift];
      speed[lane] = flow.velocity[d];
      sound[lane] = flow.sound;
      volume[lane] = flow.volume;
    }
    // Conduction spreads faster than viscosity does: the larger of the two counts.
    static_assert(kConduction > 4.0 / 3.0);
    return {{speed, speed + sound, speed - sound},
            kDiffusion[d] + (kViscosity * kConduction) * volume};
  }

  // Pentadiagonal elimination without pivoting.
  void eliminate(const Waves& low, const Waves& middle, const Waves& high,
                 const std::array<double, 5>& damping, const Forward& before, Row& row) const {
    for (int wave = 0; wave < kWaves; ++wave) {
      const Lanes a = Lanes{} + fourth_ * damping[0];
      Lanes b = fourth_ * damping[1] - first_ * low.speed[wave] - second_ * low.spread;
      Lanes c = 1 + fourth_ * damping[2] + 2 * second_ * middle.spread;
      Lanes d = fourth_ * damping[3] + first_ * high.speed[wave] - second_ * high.spread;
      b -= a * before.last_but_one.near[wave];
      c -= a * before.last_but_one.far[wave] + b * before.last.near[wave];
      d -= b * before.last.far[wave];
      const Lanes pivot = 1 / c;
      row.near[wave] = pivot * d;
      row.far[wave] = pivot * (fourth_ * damping[4]);
      for (int m = 0; m < kStates; ++m) {
        if (wave_of(m) != wave) continue;
        row.change[m] =
            pivot * (row.change[m] - a * before.last_but_one.change[m] - b * before.last.change[m]);
      }
    }
  }

  // The right-hand side at the i-th point of the lines, in direction 0 turned into the
  // characteristic variables of xi.
  template <int d>
  static void load(const Subdomain& subdomain, const Batch& batch, int i, Lanes r[kStates]) {
    const long shift = i * kStates * subdomain.residual_at.stride[d];
    for (int m = 0; m < kStates; ++m) {
      r[m] = gather(subdomain.residual.data(), batch.residual_at, kStates, shift + m);
    }
    if constexpr (d == 0) to_xi(Local(subdomain, batch, i * subdomain.state_at.stride[d]), r);
  }

  // Turns the solution into the variables of the next direction, at last into changes of the
  // state.
  template <int d>
  static void store(Subdomain& subdomain, const Batch& batch, int i, Lanes r[kStates]) {
    if constexpr (d == 0) xi_to_eta(r);
    if constexpr (d == 1) eta_to_zeta(r);
    if constexpr (d == 2) from_zeta(Local(subdomain, batch, i * subdomain.state_at.stride[d]), r);
    double* out = subdomain.residual.data() + i * kStates * subdomain.residual_at.stride[d];
    for (int lane = 0; lane < batch.lines; ++lane) {
      for (int m = 0; m < kStates; ++m) out[batch.residual_at[lane] * kStates + m] = r[m][lane];
    }
  }

  struct Local {
    Lanes velocity[3], kinetic, volume, sound;

    Local(const Subdomain& subdomain, const Batch& batch, long shift) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const Flow& flow = subdomain.flow[batch.state_at[lane] + shift];
        for (int m = 0; m < 3; ++m) velocity[m][lane] = flow.velocity[m];
        kinetic[lane] = flow.kinetic;
        volume[lane] = flow.volume;
        sound[lane] = flow.sound;
      }
    }
  };

  static constexpr double kHalfRoot = std::numbers::sqrt2 / 2;

  // The inverse of the matrix of the flux's eigenvectors in direction xi.
  static void to_xi(const Local& at, Lanes r[kStates]) {
    const auto& v = at.velocity;
    const Lanes pressure =
        kPressure * (at.kinetic * r[0] - v[0] * r[1] - v[1] * r[2] - v[2] * r[3] + r[4]);
    const Lanes weight = pressure / (at.sound * at.sound);
    const Lanes drift = kHalfRoot * at.volume * (v[0] * r[0] - r[1]);
    const Lanes wave = kHalfRoot * at.volume * at.sound * weight;
    const Lanes r2 = r[2];
    r[2] = at.volume * (v[1] * r[0] - r2);
    r[1] = at.volume * (r[3] - v[2] * r[0]);
    r[0] -= weight;
    r[3] = wave - drift;
    r[4] = wave + drift;
  }

  static void xi_to_eta(Lanes r[kStates]) {
    const Lanes turned = kHalfRoot * r[2];
    const Lanes mean = 0.5 * (r[3] + r[4]);
    const Lanes r0 = r[0];
    r[0] = -r[1];
    r[1] = r0;
    r[2] = kHalfRoot * (r[3] - r[4]);
    r[3] = mean - turned;
    r[4] = mean + turned;
  }

  static void eta_to_zeta(Lanes r[kStates]) {
    const Lanes turned = kHalfRoot * r[0];
    const Lanes mean = 0.5 * (r[3] + r[4]);
    const Lanes r1 = r[1];
    r[0] = kHalfRoot * (r[3] - r[4]);
    r[1] = -r[2];
    r[2] = r1;
    r[3] = mean - turned;
    r[4] = mean + turned;
  }

  // The matrix of the flux's eigenvectors in direction zeta.
  static void from_zeta(const Local& at, Lanes r[kStates]) {
    const auto& v = at.velocity;
    const Lanes density = 1 / at.volume;
    const Lanes wave = kHalfRoot * density / at.sound * (r[3] + r[4]);
    const Lanes mass = r[2] + wave;
    const Lanes drift = kHalfRoot * density * (r[3] - r[4]);
    const Lanes r0 = r[0], r1 = r[1];
    r[0] = mass;
    r[1] = v[0] * mass - density * r1;
    r[2] = v[1] * mass + density * r0;
    r[3] = v[2] * mass + drift;
    r[4] = density * (v[1] * r0 - v[0] * r1) + at.kinetic * mass +
           (1 / kPressure) * at.sound * at.sound * wave + v[2] * drift;
  }

  double first_, second_, fourth_;  // factors of differences, times the time step
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_SP_CHARACTERISTIC_SOLVER_H_
