// BT's solver along lines: block tridiagonal systems with blocks of 5 x 5, without pivoting.
#ifndef WORKLOADS_NPB_BT_BLOCK_SOLVER_H_
#define WORKLOADS_NPB_BT_BLOCK_SOLVER_H_

#include "npb/cfd/jacobian.h"
#include "npb/cfd/lanes.h"

namespace sesame::workload::cfd {

class BlockSolver {
 public:
  static constexpr bool kNeedsSpeedOfSound = false;
  // A point of a line after elimination: x = change - upper * (x of the next point).
  struct Row {
    Lanes upper[kStates][kStates];  // [column][row]
    Lanes change[kStates];
  };
  using Forward = Row;
  struct Backward {
    Lanes x[kStates];
  };

  BlockSolver(int grid, double time_step)
      : first_(time_step * Differences(grid).first),
        second_(time_step * Differences(grid).second) {}

  template <int d>
  void forward(Subdomain& subdomain, const Batch& batch, int length, Forward& carry,
               Row* rows) const {
    const long step = subdomain.state_at.stride[d];
    const Row* before = &carry;
    LinearizationPoint<Lanes> low = linearization_point(subdomain, batch, -step);
    LinearizationPoint<Lanes> middle = linearization_point(subdomain, batch, 0);
    for (int i = 0; i < length; ++i) {
      const LinearizationPoint<Lanes> high = linearization_point(subdomain, batch, (i + 1) * step);
      const long shift = i * kStates * subdomain.residual_at.stride[d];
      for (int m = 0; m < kStates; ++m) {
        rows[i].change[m] =
            gather(subdomain.residual.data(), batch.residual_at, kStates, shift + m);
      }
      coupling_matrix<d>(high, first_, second_, rows[i].upper);
      eliminate<d>(low, middle, *before, rows[i]);
      before = &rows[i];
      low = middle;
      middle = high;
    }
    if (length > 0) carry = *before;
  }

  template <int d>
  void backward(Subdomain& subdomain, const Batch& batch, int length, Backward& next,
                const Row* rows) const {
    for (int i = length - 1; i >= 0; --i) {
      Backward own;
      for (int m = 0; m < kStates; ++m) own.x[m] = rows[i].change[m];
      for (int column = 0; column < kStates; ++column) {
        for (int m = 0; m < kStates; ++m) own.x[m] -= rows[i].upper[column][m] * next.x[column];
      }
      next = own;
      const long shift = i * kStates * subdomain.residual_at.stride[d];
      for (int m = 0; m < kStates; ++m) {
        scatter(own.x[m], batch, subdomain.residual.data() + shift + m);
      }
    }
  }

 private:
  static LinearizationPoint<Lanes> linearization_point(const Subdomain& subdomain,
                                                       const Batch& batch, long shift) {
    LinearizationPoint<Lanes> result;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Flow& flow = subdomain.flow[batch.state_at[lane] + shift];
      for (int m = 0; m < 3; ++m) result.velocity[m][lane] = flow.velocity[m];
      result.kinetic[lane] = flow.kinetic;
      result.energy[lane] = flow.energy;
      result.volume[lane] = flow.volume;
    }
    return result;
  }

  static void scatter(const Lanes& value, const Batch& batch, double* array) {
    for (int lane = 0; lane < batch.lines; ++lane) {
      array[batch.residual_at[lane] * kStates] = value[lane];
    }
  }

  // Takes the point before out of `row`, which holds the right-hand side and the block of the next
  // point, and divides by what is then the diagonal block.
  template <int d>
  void eliminate(const LinearizationPoint<Lanes>& low, const LinearizationPoint<Lanes>& middle,
                 const Row& before, Row& row) const {
    LowerMatrix<Lanes> own = {};
    for (Lanes& element : own.diagonal) element += 1;
    add_diffusion<d>(middle, 2 * second_, own);
    Lanes block[kStates][kStates], product[kStates];
    for (int column = 0; column < kStates; ++column) {
      apply_coupling<d>(low, -first_, second_, before.upper[column], product);
      for (int m = 0; m < kStates; ++m) block[column][m] = -product[m];
    }
    for (int m = 0; m < kStates; ++m) block[m][m] += own.diagonal[m];
    for (int m = 1; m < kStates; ++m) block[0][m] += own.first[m];
    for (int m = 1; m < kStates - 1; ++m) block[m][4] += own.last[m];
    apply_coupling<d>(low, -first_, second_, before.change, product);
    for (int m = 0; m < kStates; ++m) row.change[m] -= product[m];
    divide(block, row);
  }

  // Gauss and Jordan's elimination: row = block^-1 row.
  static void divide(Lanes block[kStates][kStates], Row& row) {
#pragma GCC unroll 5
    for (int p = 0; p < kStates; ++p) {
      const Lanes pivot = 1 / block[p][p];
      Lanes factor[kStates];
      for (int m = 0; m < kStates; ++m) factor[m] = block[p][m];
#pragma GCC unroll 5
      for (int column = p + 1; column < kStates; ++column) {
        reduce(block[column], factor, pivot, p);
      }
      for (int column = 0; column < kStates; ++column) reduce(row.upper[column], factor, pivot, p);
      reduce(row.change, factor, pivot, p);
    }
  }

  static void reduce(Lanes column[kStates], const Lanes factor[kStates], const Lanes& pivot,
                     int p) {
    column[p] *= pivot;
#pragma GCC unroll 5
    for (int m = 0; m < kStates; ++m) {
      if (m != p) column[m] -= factor[m] * column[p];
    }
  }

  double first_, second_;  // factors of differences, times the time step
};

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_BT_BLOCK_SOLVER_H_
