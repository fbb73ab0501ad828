#include "npb/cfd/equations.h"

namespace sesame::workload::cfd {
namespace {

// Table 3.1 of the specification: the constant, then the factors of xi, eta, zeta, their squares,
// cubes and fourth powers.
constexpr double kExact[kStates][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

}  // namespace

State exact_solution(double xi, double eta, double zeta) {
  const double place[3] = {xi, eta, zeta};
  State u;
  for (int m = 0; m < kStates; ++m) {
    const double* c = kExact[m];
    u[m] = c[0];
    for (int d = 0; d < 3; ++d) {
      const double x = place[d];
      u[m] += x * (c[1 + d] + x * (c[4 + d] + x * (c[7 + d] + x * c[10 + d])));
    }
  }
  return u;
}

}  // namespace sesame::workload::cfd
