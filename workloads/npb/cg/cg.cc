// NPB kernel CG (NPB specification, RNR-94-007): the smallest eigenvalue of a sparse matrix
// by inverse iteration, each step solved by 25 steps of conjugate gradients.
//
// Ranks make a grid of as many columns as rows, or twice as many. A rank has one block of the
// matrix, and of every vector the part that belongs to its block's columns; the ranks of a grid
// column have the same part.
#include <mpi.h>

#include <cmath>
#include <string>
#include <vector>

#include "kit/classes.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/ranks.h"
#include "npb/cg/matrix.h"

namespace sesame::workload {
namespace {

struct Class {
  const char* name;
  int size, nonzeros, steps;
  double shift, zeta;  // zeta as published
};

constexpr Class kClasses[] = {
    {"S", 1400, 7, 15, 10, 8.5971775078648},
    {"W", 7000, 8, 15, 12, 10.362595087124},
    {"A", 14000, 11, 15, 20, 17.130235054029},
    {"B", 75000, 13, 75, 60, 22.712745482631},
};
constexpr double kTolerance = 1e-10;
constexpr int kInnerSteps = 25;

// Where a rank is in the grid, and the sums and exchanges that a product needs.
class Grid {
 public:
  explicit Grid(int size) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int exponent = require_power_of_two("cg", ranks);
    columns_ = 1 << ((exponent + 1) / 2);
    const int grid_rows = ranks / columns_;
    halved_ = columns_ > grid_rows;
    row_ = rank / columns_;
    column_ = rank % columns_;
    rows_ = block_of(size, grid_rows, row_);
    const int across = halved_ ? column_ / 2 : column_;
    vector_ = block_of(size, grid_rows, across);
    if (halved_) vector_ = half(vector_, column_ % 2);
    const int mirror_column = halved_ ? 2 * row_ + column_ % 2 : row_;
    mirror_ = across * columns_ + mirror_column;
    buffer_.resize(std::max(rows_.size(), 1L));
  }

  Block rows() const { return rows_; }
  // This rank's part of every vector, and the columns of its block.
  Block vector() const { return vector_; }

  // The sum of `count` values over the ranks of a grid row, on all of them.
  void sum(double* values, int count) { sum(values, count, 1); }

  // From this rank's share of the product's rows to the whole of its part of the vector.
  void collect(double* product, double* result) {
    Block mine{0, rows_.size()};
    if (halved_) {
      // Each rank of a pair passes on only one half, and needs to complete only that.
      mine = half(mine, column_ % 2);
      const Block other = half({0, rows_.size()}, 1 - column_ % 2);
      exchange(product + other.begin, other.size(), buffer_.data(), mine.size(),
               neighbor(column_ ^ 1));
      for (long i = 0; i < mine.size(); ++i) product[mine.begin + i] += buffer_[i];
    }
    sum(product + mine.begin, static_cast<int>(mine.size()), halved_ ? 2 : 1);
    exchange(product + mine.begin, mine.size(), result, vector_.size(), mirror_);
  }

 private:
  static Block half(Block block, int which) {
    const Block part = block_of(block.size(), 2, which);
    return {block.begin + part.begin, block.begin + part.end};
  }

  int neighbor(int column) const { return row_ * columns_ + column; }

  void sum(double* values, int count, int first_distance) {
    for (int distance = first_distance; distance < columns_; distance *= 2) {
      exchange(values, count, buffer_.data(), count, neighbor(column_ ^ distance));
      for (int i = 0; i < count; ++i) values[i] += buffer_[i];
    }
  }

  static void exchange(const double* sent, long send_count, double* received, long receive_count,
                       int partner) {
    MPI_Sendrecv(sent, static_cast<int>(send_count), MPI_DOUBLE, partner, 0, received,
                 static_cast<int>(receive_count), MPI_DOUBLE, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }

  int columns_, row_, column_, mirror_;
  bool halved_;  // twice as many columns as rows: vectors' parts are halves of row blocks
  Block rows_, vector_;
  std::vector<double> buffer_;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sums[4] = {0, 0, 0, 0};
  const std::size_t size = a.size();
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (int k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class Solver {
 public:
  explicit Solver(const Class& problem)
      : grid_(problem.size),
        block_(make_matrix(problem.size, problem.nonzeros, problem.shift, grid_.rows(),
                           grid_.vector())),
        shift_(problem.shift),
        product_(std::max(grid_.rows().size(), 1L)) {
    for (auto* vector : {&x_, &z_, &p_, &q_, &r_}) vector->resize(grid_.vector().size());
  }

  // `steps` steps from the vector of ones; the estimate after each goes to `zetas`.
  void iterate(int steps, std::vector<double>& zetas, std::vector<double>& residuals) {
    std::fill(x_.begin(), x_.end(), 1.0);
    for (int step = 0; step < steps; ++step) {
      residuals.push_back(solve());
      double sums[2] = {dot(x_, z_), dot(z_, z_)};
      grid_.sum(sums, 2);
      zetas.push_back(shift_ + 1 / sums[0]);
      const double scale = 1 / std::sqrt(sums[1]);
      for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = scale * z_[i];
    }
  }

 private:
  // A z = x approximately; the norm of the residual.
  double solve() {
    std::fill(z_.begin(), z_.end(), 0.0);
    r_ = x_;
    p_ = x_;
    double rho = summed(dot(r_, r_));
    for (int step = 0; step < kInnerSteps; ++step) {
      multiply(p_, q_);
      const double alpha = rho / summed(dot(p_, q_));
      advance(alpha);
      const double rho_before = rho;
      rho = summed(dot(r_, r_));
      const double beta = rho / rho_before;
      for (std::size_t i = 0; i < p_.size(); ++i) p_[i] = r_[i] + beta * p_[i];
    }
    multiply(z_, r_);
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] = x_[i] - r_[i];
    return std::sqrt(summed(dot(r_, r_)));
  }

  void advance(double alpha) {
    const std::size_t size = z_.size();
    double* __restrict z = z_.data();
    double* __restrict r = r_.data();
    const double* __restrict p = p_.data();
    const double* __restrict q = q_.data();
    for (std::size_t i = 0; i < size; ++i) {
      z[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
  }

  void multiply(const std::vector<double>& vector, std::vector<double>& result) {
    block_.multiply(vector.data(), product_.data());
    grid_.collect(product_.data(), result.data());
  }

  double summed(double value) {
    grid_.sum(&value, 1);
    return value;
  }

  Grid grid_;
  SparseBlock block_;
  double shift_;
  std::vector<double> product_;
  std::vector<double> x_, z_, p_, q_, r_;
};

// As NPB counts them.
double operations(const Class& problem) {
  const double per_row = problem.nonzeros * (problem.nonzeros + 1.0);
  return 2.0 * problem.steps * problem.size * (3 + per_row + kInnerSteps * (5 + per_row) + 3);
}

void run(Report& report, const std::string& name) {
  const Class& problem = find_class(kClasses, name);
  std::vector<double> zetas, residuals;
  Solver solver(problem);
  solver.iterate(1, zetas, residuals);  // untimed, to touch all memory
  zetas.clear();
  residuals.clear();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  solver.iterate(problem.steps, zetas, residuals);
  report.time(largest(MPI_Wtime() - began));
  report.parameter("class", problem.name);
  report.parameter("rows", static_cast<long>(problem.size));
  report.parameter("steps", static_cast<long>(problem.steps));
  report.rate(operations(problem));
  report.check("zeta", zetas.back(), problem.zeta, kTolerance);
  std::vector<double> numbers(zetas.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i + 1);
  report.column("convergence", "step", "", numbers);
  report.column("convergence", "zeta", "", zetas);
  report.column("convergence", "residual", "", residuals);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program(
      "cg", "NPB kernel CG: smallest eigenvalue of a sparse matrix by conjugate gradients");
  std::string name = "S";
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  return program.run(
      argc, argv, [&](sesame::workload::Report& report) { sesame::workload::run(report, name); });
}
