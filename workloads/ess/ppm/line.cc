#include "ess/ppm/line.h"

#include <algorithm>

namespace sesame::workload {
namespace {

// Colella and Woodward, (A.1) and (A.2).
constexpr double kShock = 0.33, kFlattenFrom = 0.75, kFlattenBy = 10;

constexpr double Gas::*kComponents[] = {&Gas::density, &Gas::u, &Gas::v, &Gas::pressure};

Conserved flux_of(const Gas& gas) {
  const Conserved c = to_conserved(gas);
  return {c[1], c[1] * gas.u + gas.pressure, c[2] * gas.u, (c[3] + gas.pressure) * gas.u};
}

// The flux beside a contact that moves at `contact`, behind the wave of this speed.
Conserved flux_behind(const Gas& gas, double wave, double contact) {
  const Conserved c = to_conserved(gas);
  const double density = gas.density * (wave - gas.u) / (wave - contact);
  const double factor = contact + gas.pressure / (gas.density * (wave - gas.u));
  const Conserved star = {density, density * contact, density * gas.v,
                          density * (c[3] / gas.density + (contact - gas.u) * factor)};
  Conserved flux = flux_of(gas);
  for (int k = 0; k < 4; ++k) flux[k] += wave * (star[k] - c[k]);
  return flux;
}

// HLLC: E. Toro, M. Spruce and W. Speares, 1994, with Davis's wave speeds.
Conserved riemann_flux(const Gas& left, const Gas& right) {
  const double slowest = std::min(left.u - left.sound(), right.u - right.sound());
  const double fastest = std::max(left.u + left.sound(), right.u + right.sound());
  if (slowest >= 0) return flux_of(left);
  if (fastest <= 0) return flux_of(right);
  const double from_left = left.density * (slowest - left.u);
  const double from_right = right.density * (fastest - right.u);
  const double contact =
      (right.pressure - left.pressure + from_left * left.u - from_right * right.u) /
      (from_left - from_right);
  return contact >= 0 ? flux_behind(left, slowest, contact) : flux_behind(right, fastest, contact);
}

}  // namespace

Line::Line(int cells) : count_(cells) {
  const std::size_t all = cells + 2 * kGhosts;
  cells_.resize(all);
  gas_.resize(all);
  values_.resize(all);
  slopes_.resize(all);
  flattening_.resize(all);
  steepness_.resize(all);
  parabolas_.resize(all);
  at_left_.resize(all);
  at_right_.resize(all);
  fluxes_.resize(all);
}

void Line::advance(double ratio) {
  const int first = kGhosts, end = kGhosts + count_;
  std::transform(cells_.begin(), cells_.end(), gas_.begin(), to_gas);
  find_flattening();
  for (int component = 0; component < 4; ++component) find_parabolas(component);
  for (int i = first - 1; i <= end; ++i) trace(i, ratio);
  for (int i = first; i <= end; ++i) fluxes_[i] = riemann_flux(at_right_[i - 1], at_left_[i]);
  for (int i = first; i < end; ++i) {
    for (int k = 0; k < 4; ++k) cells_[i][k] += ratio * (fluxes_[i][k] - fluxes_[i + 1][k]);
  }
}

// At shocks within few cells parabolas would oscillate: 1 flattens them completely.
void Line::find_flattening() {
  const int all = static_cast<int>(gas_.size());
  for (int i = 2; i < all - 2; ++i) {
    const double near = gas_[i + 1].pressure - gas_[i - 1].pressure;
    const double far = gas_[i + 2].pressure - gas_[i - 2].pressure;
    const double least = std::min(gas_[i + 1].pressure, gas_[i - 1].pressure);
    const bool shock = std::abs(near) > kShock * least && gas_[i - 1].u > gas_[i + 1].u;
    const double steep = far == 0 ? 0 : kFlattenBy * (near / far - kFlattenFrom);
    steepness_[i] = shock ? std::clamp(steep, 0.0, 1.0) : 0;
  }
  for (int i = 3; i < all - 3; ++i) {
    const int upstream = gas_[i + 1].pressure > gas_[i - 1].pressure ? 1 : -1;
    flattening_[i] = std::max(steepness_[i], steepness_[i + upstream]);
  }
}

void Line::find_parabolas(int component) {
  const int all = static_cast<int>(gas_.size());
  for (int i = 0; i < all; ++i) values_[i] = gas_[i].*kComponents[component];
  for (int i = 1; i < all - 1; ++i) {
    const double before = values_[i] - values_[i - 1], after = values_[i + 1] - values_[i];
    const double slope = 0.5 * (before + after);
    const double most = std::min({2 * std::abs(before), 2 * std::abs(after), std::abs(slope)});
    slopes_[i] = before * after > 0 ? std::copysign(most, slope) : 0;
  }
  const auto face = [this](int i) {  // between i - 1 and i
    return 0.5 * (values_[i - 1] + values_[i]) - (slopes_[i] - slopes_[i - 1]) / 6;
  };
  for (int i = kGhosts - 1; i <= kGhosts + count_; ++i) {
    const double value = values_[i], flat = flattening_[i];
    double left = flat * value + (1 - flat) * face(i);
    double right = flat * value + (1 - flat) * face(i + 1);
    const double width = right - left, middle = value - 0.5 * (left + right);
    if ((right - value) * (value - left) <= 0) {
      left = right = value;
    } else if (width * middle > width * width / 6) {
      left = 3 * value - 2 * right;
    } else if (-width * width / 6 > width * middle) {
      right = 3 * value - 2 * left;
    }
    parabolas_[i][component] = {left, right, 6 * (value - 0.5 * (left + right))};
  }
}

double Line::reaching_right(const Parabola& p, double share) {
  return p.right - share / 2 * (p.right - p.left - (1 - 2 * share / 3) * p.curvature);
}

double Line::reaching_left(const Parabola& p, double share) {
  return p.left + share / 2 * (p.right - p.left + (1 - 2 * share / 3) * p.curvature);
}

// States at both ends of a cell, averaged over the time step: the mean of the parabola over the
// part from which the fastest wave reaches the end, corrected for slower waves, which come from
// less far.
void Line::trace(int cell, double ratio) {
  const Gas& gas = gas_[cell];
  const auto& parabola = parabolas_[cell];
  const double sound = gas.sound(), density = gas.density;
  const auto ends = [&](bool right) {
    const double sign = right ? 1 : -1;
    const auto state = [&](double speed) {
      const double share = std::max(0.0, sign * speed) * ratio;
      const auto reach = right ? reaching_right : reaching_left;
      return Gas{reach(parabola[0], share), reach(parabola[1], share), reach(parabola[2], share),
                 reach(parabola[3], share)};
    };
    Gas result = state(gas.u + sign * sound);
    const Gas fastest = result, carried = state(gas.u);
    result.v = carried.v;
    if (sign * gas.u > 0) {
      result.density -= fastest.density - carried.density -
                        (fastest.pressure - carried.pressure) / (sound * sound);
    }
    if (sign * gas.u > sound) {
      const Gas slow = state(gas.u - sign * sound);
      const double wave = 0.5 * ((fastest.pressure - slow.pressure) / (sound * sound) -
                                 sign * density * (fastest.u - slow.u) / sound);
      result.density -= wave;
      result.u += sign * wave * sound / density;
      result.pressure -= wave * sound * sound;
    }
    return result;
  };
  at_left_[cell] = ends(false);
  at_right_[cell] = ends(true);
}

}  // namespace sesame::workload
