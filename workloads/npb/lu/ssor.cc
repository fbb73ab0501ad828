#include "npb/lu/ssor.h"

#include <mpi.h>

#include "npb/cfd/jacobian.h"

namespace sesame::workload::cfd {
namespace {

LinearizationPoint<double> linearization_point(const Flow& flow) {
  return {{flow.velocity[0], flow.velocity[1], flow.velocity[2]},
          flow.kinetic,
          flow.energy,
          flow.volume};
}

// The diagonal block of the linearised equations.
LowerMatrix<double> diagonal(const Flow& flow, double second) {
  const LinearizationPoint<double> at = linearization_point(flow);
  LowerMatrix<double> matrix = {};
  for (double& element : matrix.diagonal) element = 1;
  add_diffusion<0>(at, 2 * second, matrix);
  add_diffusion<1>(at, 2 * second, matrix);
  add_diffusion<2>(at, 2 * second, matrix);
  return matrix;
}

// x = matrix^-1 x: forward substitution.
void solve(const LowerMatrix<double>& matrix, double x[kStates]) {
  x[0] /= matrix.diagonal[0];
  double rest = x[4] - matrix.first[4] * x[0];
  for (int m = 1; m < 4; ++m) {
    x[m] = (x[m] - matrix.first[m] * x[0]) / matrix.diagonal[m];
    rest -= matrix.last[m] * x[m];
  }
  x[4] = rest / matrix.diagonal[4];
}

// Adds the coupling to the change of the neighbour in direction d, `offset` points away.
template <int d>
void add_neighbour(const Flow* flow, const double* change, long flow_offset, long change_offset,
                   double first, double second, double sum[kStates]) {
  double product[kStates];
  apply_coupling<d>(linearization_point(flow[flow_offset]), first, second,
                    change + kStates * change_offset, product);
  for (int m = 0; m < kStates; ++m) sum[m] += product[m];
}

}  // namespace

Ssor::Ssor(Domain& domain, double time_step)
    : subdomain_(domain.subdomains[0]),
      neighbour_{{domain.neighbour[0][0], domain.neighbour[0][1]},
                 {domain.neighbour[1][0], domain.neighbour[1][1]}},
      first_(time_step * Differences(domain.grid).first),
      second_(time_step * Differences(domain.grid).second) {}

// (D + omega L) x = residual, where D are the diagonal blocks and L those of lower neighbours.
void Ssor::sweep_up() {
  for (int k = subdomain_.inner_begin(2); k < subdomain_.inner_end(2); ++k) {
    receive_edges(k, 0);
    sweep_plane<0>(k);
    send_edges(k, 1);
  }
}

// (D + omega U) y = D x.
void Ssor::sweep_down() {
  for (int k = subdomain_.inner_end(2) - 1; k >= subdomain_.inner_begin(2); --k) {
    receive_edges(k, 1);
    sweep_plane<1>(k);
    send_edges(k, 0);
  }
}

// `side`: where the neighbours are whose changes are known, 0 lower and 1 upper.
template <int side>
void Ssor::sweep_plane(int k) {
  constexpr int kStep = side == 0 ? 1 : -1;
  const int i_begin = subdomain_.inner_begin(0), i_end = subdomain_.inner_end(0);
  const int j_begin = subdomain_.inner_begin(1), j_end = subdomain_.inner_end(1);
  const auto &wide = subdomain_.state_at.stride, &narrow = subdomain_.residual_at.stride;
  const double first = -kStep * first_;
  for (int row = 0; row < j_end - j_begin; ++row) {
    const int j = side == 0 ? j_begin + row : j_end - 1 - row;
    const int i = side == 0 ? i_begin : i_end - 1;
    const Flow* flow = &subdomain_.flow[subdomain_.state_at.at(i, j, k)];
    double* x = &subdomain_.residual[kStates * subdomain_.residual_at.at(i, j, k)];
    for (int n = 0; n < i_end - i_begin; ++n, flow += kStep, x += kStep * kStates) {
      double sum[kStates] = {};
      add_neighbour<2>(flow, x, -kStep * wide[2], -kStep * narrow[2], first, second_, sum);
      add_neighbour<1>(flow, x, -kStep * wide[1], -kStep * narrow[1], first, second_, sum);
      add_neighbour<0>(flow, x, -kStep, -kStep, first, second_, sum);
      const LowerMatrix<double> own = diagonal(*flow, second_);
      if constexpr (side == 0) {
        for (int m = 0; m < kStates; ++m) x[m] -= kRelaxation * sum[m];
        solve(own, x);
      } else {
        solve(own, sum);
        for (int m = 0; m < kStates; ++m) x[m] -= kRelaxation * sum[m];
      }
    }
  }
}

// The changes beside the subdomain, of plane k, from the neighbours on this side in xi and eta.
void Ssor::receive_edges(int k, int side) {
  for (int d = 0; d < 2; ++d) {
    if (neighbour_[d][side] == MPI_PROC_NULL) continue;
    edge_.resize(kStates * subdomain_.size[1 - d]);
    MPI_Recv(edge_.data(), static_cast<int>(edge_.size()), MPI_DOUBLE, neighbour_[d][side],
             2 * d + side, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    copy_edge(d, side == 0 ? -1 : subdomain_.size[d], k, true);
  }
}

void Ssor::send_edges(int k, int side) {
  for (int d = 0; d < 2; ++d) {
    if (neighbour_[d][side] == MPI_PROC_NULL) continue;
    edge_.resize(kStates * subdomain_.size[1 - d]);
    copy_edge(d, side == 0 ? 0 : subdomain_.size[d] - 1, k, false);
    MPI_Send(edge_.data(), static_cast<int>(edge_.size()), MPI_DOUBLE, neighbour_[d][side],
             2 * d + 1 - side, MPI_COMM_WORLD);
  }
}

// Between edge_ and the row of the residual with index `at` in direction d.
void Ssor::copy_edge(int d, int at, int k, bool into_subdomain) {
  for (int n = 0; n < subdomain_.size[1 - d]; ++n) {
    const long point =
        d == 0 ? subdomain_.residual_at.at(at, n, k) : subdomain_.residual_at.at(n, at, k);
    double* x = &subdomain_.residual[kStates * point];
    double* edge = &edge_[kStates * n];
    if (into_subdomain) {
      std::copy_n(edge, kStates, x);
    } else {
      std::copy_n(x, kStates, edge);
    }
  }
}

}  // namespace sesame::workload::cfd
