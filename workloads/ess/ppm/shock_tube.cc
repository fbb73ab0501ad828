#include "ess/ppm/shock_tube.h"

#include <algorithm>

namespace sesame::workload {
namespace {

constexpr double kExponent = (kGamma - 1) / (2 * kGamma);
constexpr double kBeta = (kGamma - 1) / (kGamma + 1);
constexpr int kIterations = 60;
constexpr double kDelta = 1e-7;

// How much a wave to this pressure changes the velocity.
double velocity_change(const Gas& gas, double pressure) {
  if (pressure > gas.pressure) {
    const double a = 2 / ((kGamma + 1) * gas.density), b = kBeta * gas.pressure;
    return (pressure - gas.pressure) * std::sqrt(a / (pressure + b));
  }
  return 2 * gas.sound() / (kGamma - 1) * (std::pow(pressure / gas.pressure, kExponent) - 1);
}

}  // namespace

ShockTube::ShockTube(const Gas& left, const Gas& right) : left_(left), right_(right) {
  const auto mismatch = [&](double pressure) {
    return velocity_change(left, pressure) + velocity_change(right, pressure) + right.u - left.u;
  };
  pressure_ = 0.5 * (left.pressure + right.pressure);
  for (int i = 0; i < kIterations; ++i) {
    const double step = kDelta * pressure_;
    const double slope = (mismatch(pressure_ + step) - mismatch(pressure_ - step)) / (2 * step);
    pressure_ = std::max(0.1 * pressure_, pressure_ - mismatch(pressure_) / slope);
  }
  velocity_ = 0.5 * (left.u + right.u + velocity_change(right, pressure_) -
                     velocity_change(left, pressure_));
}

Gas ShockTube::at(double speed) const {
  return speed < velocity_ ? side(left_, -1, speed) : side(right_, 1, speed);
}

// `direction`: where the wave on this side of the contact goes.
Gas ShockTube::side(const Gas& gas, double direction, double speed) const {
  const double ratio = pressure_ / gas.pressure, sound = gas.sound();
  if (ratio > 1) {
    const double shock =
        gas.u + direction * sound * std::sqrt((kGamma + 1) / (2 * kGamma) * ratio + kExponent);
    if (direction * (speed - shock) > 0) return gas;
    return {gas.density * (ratio + kBeta) / (kBeta * ratio + 1), velocity_, gas.v, pressure_};
  }
  const double inner = sound * std::pow(ratio, kExponent);
  if (direction * (speed - gas.u) > sound) return gas;
  if (direction * (speed - velocity_) < inner) {
    return {gas.density * std::pow(ratio, 1 / kGamma), velocity_, gas.v, pressure_};
  }
  const double share = 2 / (kGamma + 1) - direction * kBeta / sound * (gas.u - speed);
  return {gas.density * std::pow(share, 2 / (kGamma - 1)),
          2 / (kGamma + 1) * (-direction * sound + (kGamma - 1) / 2 * gas.u + speed), gas.v,
          gas.pressure * std::pow(share, 2 * kGamma / (kGamma - 1))};
}

}  // namespace sesame::workload
