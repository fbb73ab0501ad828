#include "core/rocc/distribution.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace sesame::rocc {
namespace {

template <size_t kCount>
double polynomial(const double (&coefficients)[kCount], double x) {
  double sum = 0;
  for (size_t i = kCount; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Algorithm AS 241, PPND16 (Wichura, "The percentage points of the normal distribution", 1988).
constexpr double kA[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                         1.9715909503065514427e+3, 1.3731693765509461125e+4,
                         4.5921953931549871457e+4, 6.7265770927008700853e+4,
                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kB[] = {1.0,
                         4.2313330701600911252e+1,
                         6.8718700749205790830e+2,
                         5.3941960214247511077e+3,
                         2.1213794301586595867e+4,
                         3.9307895800092710610e+4,
                         2.8729085735721942674e+4,
                         5.2264952788528545610e+3};
constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                         5.76949722146069140550e0,  3.64784832476320460504e0,
                         1.27045825245236838258e0,  2.41780725177450611770e-1,
                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kD[] = {1.0,
                         2.05319162663775882187e0,
                         1.67638483018380384940e0,
                         6.89767334985100004550e-1,
                         1.48103976427480074590e-1,
                         1.51986665636164571966e-2,
                         5.47593808499534494600e-4,
                         1.05075007164441684324e-9};
constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                         1.78482653991729133580e0,  2.96560571828504891230e-1,
                         2.65321895265761230930e-2, 1.24266094738807843860e-3,
                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kF[] = {1.0,
                         5.99832206555887937690e-1,
                         1.36929880922735805310e-1,
                         1.48753612908506148525e-2,
                         7.86869131145613259100e-4,
                         1.84631831751005468180e-5,
                         1.42151175831644588870e-7,
                         2.04426310338993978564e-15};

// Standard gamma with shape >= 1 (Marsaglia and Tsang, "A simple method for generating gamma
// variables", 2000).
double large_gamma(double shape, RandomStream& random) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_quantile(random.uniform());
    const double root = 1 + c * x;
    const double uniform = random.uniform();
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double standard_gamma(double shape, RandomStream& random) {
  if (shape >= 1) return large_gamma(shape, random);
  const double power = std::pow(random.uniform(), 1 / shape);
  return large_gamma(shape + 1, random) * power;
}

}  // namespace

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double value = r <= 5 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6)
                              : polynomial(kE, r - 5) / polynomial(kF, r - 5);
  return q < 0 ? -value : value;
}

Distribution::Distribution(Family family, std::vector<double> parameters,
                           std::vector<Distribution> components)
    : family_(family), components_(std::move(components)) {
  CHECK(!parameters.empty());
  CHECK(components_.size() == (family == Family::kMixture ? 2 : 0));
  a_ = parameters[0];
  b_ = parameters.size() > 1 ? parameters[1] : 0;
  if (family == Family::kLognormal) {
    const double spread = b_ / a_;
    const double variance = std::log1p(spread * spread);
    a_ = std::log(a_) - variance / 2;
    b_ = std::sqrt(variance);
  } else if (family == Family::kEmpirical) {
    CHECK(parameters.size() > 1);
    quantiles_ = std::move(parameters);
  }
}

double Distribution::seconds(RandomStream& random) const {
  switch (family_) {
    case Family::kConstant:
      return a_;
    case Family::kExponential:
      return -a_ * std::log(random.uniform());
    case Family::kLognormal:
      return std::exp(a_ + b_ * normal_quantile(random.uniform()));
    case Family::kWeibull:
      return b_ * std::pow(-std::log(random.uniform()), 1 / a_);
    case Family::kGamma:
      return b_ * standard_gamma(a_, random);
    case Family::kPareto:
      return b_ * std::pow(random.uniform(), -1 / a_);
    case Family::kMixture:
      return components_[random.uniform() < a_ ? 0 : 1].seconds(random);
    case Family::kEmpirical:
      return empirical(random.uniform());
  }
  CHECK(false);
}

double Distribution::empirical(double probability) const {
  const double at = probability * static_cast<double>(quantiles_.size() - 1);
  const auto below = std::min(static_cast<size_t>(at), quantiles_.size() - 2);
  const double share = at - static_cast<double>(below);
  return quantiles_[below] + share * (quantiles_[below + 1] - quantiles_[below]);
}

}  // namespace sesame::rocc
