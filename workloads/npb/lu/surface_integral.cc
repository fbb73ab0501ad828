#include "npb/lu/surface_integral.h"

#include <mpi.h>

namespace sesame::workload::cfd {
namespace {

// The integral's weight at a grid index along one edge of a face, or 0 outside.
double trapezoid(int at, int first, int last) {
  if (at < first || at > last) return 0;
  return at == first || at == last ? 0.5 : 1;
}

}  // namespace

double surface_integral(const Domain& domain) {
  const int n = domain.grid;
  const int first[3] = {1, 1, 2}, last[3] = {n - 2, n - 3, n - 2};
  const Subdomain& subdomain = domain.subdomains[0];
  double sum = 0;
  for (int k = subdomain.inner_begin(2); k < subdomain.inner_end(2); ++k) {
    for (int j = subdomain.inner_begin(1); j < subdomain.inner_end(1); ++j) {
      for (int i = subdomain.inner_begin(0); i < subdomain.inner_end(0); ++i) {
        const int at[3] = {subdomain.begin[0] + i, subdomain.begin[1] + j, subdomain.begin[2] + k};
        double weight[3];
        for (int d = 0; d < 3; ++d) weight[d] = trapezoid(at[d], first[d], last[d]);
        double area = 0;
        for (int d = 0; d < 3; ++d) {
          const bool on_face = at[d] == first[d] || at[d] == last[d];
          if (on_face) area += weight[(d + 1) % 3] * weight[(d + 2) % 3];
        }
        sum += area * subdomain.flow[subdomain.state_at.at(i, j, k)].pressure;
      }
    }
  }
  double total = 0;
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total / ((n - 1.0) * (n - 1.0));
}

}  // namespace sesame::workload::cfd
