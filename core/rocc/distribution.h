// Distributions of lengths of time, and drawing from them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/rocc/random_stream.h"

namespace sesame::rocc {

// The parameters are those of python/sesame/overhead/distributions.py, in seconds, which checks
// them; the order of the families is the interface to Python.
enum class Family : uint8_t {
  kConstant,
  kExponential,
  kLognormal,
  kWeibull,
  kGamma,
  kPareto,
  kMixture,
  kEmpirical
};

class Distribution {
 public:
  // A constant 0: nothing is requested.
  Distribution() = default;
  Distribution(Family family, std::vector<double> parameters,
               std::vector<Distribution> components = {});

  bool is_nothing() const { return family_ == Family::kConstant && a_ == 0; }
  // A length of at least 1 ps, or exactly 0 for nothing.
  SimTime draw(RandomStream& random) const {
    if (is_nothing()) return SimTime::zero();
    const double ps = seconds(random) * 1e12;
    return SimTime::from_ps(ps < 1 ? 1 : ps > kMostPs ? kMostPs : static_cast<int64_t>(ps + 0.5));
  }

 private:
  static constexpr int64_t kMostPs = int64_t{1} << 60;  // 13 days

  double seconds(RandomStream& random) const;
  double empirical(double probability) const;

  Family family_ = Family::kConstant;
  double a_ = 0;  // what seconds() needs, by family
  double b_ = 0;
  std::vector<double> quantiles_;
  std::vector<Distribution> components_;
};

// The value below which a standard normal variable lies with probability p, 0 < p < 1.
double normal_quantile(double p);

}  // namespace sesame::rocc
