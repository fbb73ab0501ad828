// NPB kernel MG (NPB specification, RNR-94-007): V-cycles of a multigrid solver for the
// Poisson equation on a periodic cube.
//
// Ranks share every grid in blocks as long as each rank has two points along each axis. Below
// that, every rank gathers the whole of the small grid and does the rest of the cycle itself.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kit/classes.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/ranks.h"
#include "npb/mg/charges.h"
#include "npb/mg/domain.h"
#include "npb/mg/stencils.h"

namespace sesame::workload {
namespace {

constexpr Weights kSmootherSmall{-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr Weights kSmootherLarge{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

struct Class {
  const char* name;
  int log2_points, cycles;
  Weights smoother;
  double norm;  // published
};

constexpr Class kClasses[] = {
    {"S", 5, 4, kSmootherSmall, 0.5307707005734e-04},
    {"W", 7, 4, kSmootherSmall, 0.6467329375339e-05},
    {"A", 8, 4, kSmootherSmall, 0.2433365309069e-05},
    {"B", 8, 20, kSmootherLarge, 0.1800564401355e-05},
};
constexpr double kTolerance = 1e-8;
constexpr int kCoarsest = 1;  // two points along each axis

struct Times : Phases {
  int stencils = add("stencils"), ghosts = add("ghost points"), gathering = add("gather");
};

// The grids of a cycle that one domain shares, from a coarsest level up.
class Cycle {
 public:
  Cycle(Times& times, Domain domain, const Weights& smoother, int coarsest, int finest)
      : times_(times), domain_(std::move(domain)), smoother_(smoother), coarsest_(coarsest) {
    for (int level = coarsest; level <= finest; ++level) {
      u_.push_back(domain_.block(level));
      r_.push_back(domain_.block(level));
    }
  }

  Domain& domain() { return domain_; }
  Grid& u(int level) { return u_[level - coarsest_]; }
  Grid& r(int level) { return r_[level - coarsest_]; }

  void residual(int level, const Grid& right) {
    stencil([&] { subtract_laplacian(u(level), right, r(level)); });
    exchange(r(level));
  }

  void smooth(int level) {
    stencil([&] { workload::smooth(smoother_, r(level), u(level)); });
    exchange(u(level));
  }

  void restrict_from(int level, bool fill_ghosts) {
    stencil([&] { restrict_to(r(level), r(level - 1)); });
    if (fill_ghosts) exchange(r(level - 1));
  }

  // From the correction of the level below: its own, and a smoothing step.
  void correct(int level) {
    clear(u(level));
    interpolate_to(level);
    residual(level, r(level));
    smooth(level);
  }

  void interpolate_to(int level) {
    stencil([&] { interpolate(u(level - 1), u(level)); });
  }

  void exchange(Grid& grid) {
    Phases::Scope scope(times_, times_.ghosts);
    domain_.exchange(grid);
  }

  static void clear(Grid& grid) { std::fill(grid.values.begin(), grid.values.end(), 0.0); }

 private:
  template <typename Function>
  void stencil(Function function) {
    Phases::Scope scope(times_, times_.stencils);
    function();
  }

  Times& times_;
  Domain domain_;
  Weights smoother_;
  int coarsest_;
  std::vector<Grid> u_, r_;
};

class Solver {
 public:
  explicit Solver(const Class& problem)
      : finest_(problem.log2_points),
        shared_level_(lowest_shared_level(finest_)),
        shared_(times_, Domain::of_all_ranks(), problem.smoother, shared_level_, finest_),
        alone_(times_, Domain::of_one_rank(), problem.smoother, kCoarsest, shared_level_),
        right_(shared_.domain().block(finest_)) {
    place_charges(shared_.domain(), 1 << finest_, right_);
    shared_.exchange(right_);
  }

  Phases& times() { return times_; }

  // Cycles from zero; the norm of the last residual.
  double solve(int cycles) {
    Cycle::clear(shared_.u(finest_));
    shared_.residual(finest_, right_);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      descend();
      solve_alone();
      ascend();
      shared_.residual(finest_, right_);
    }
    return norm();
  }

 private:
  // The coarsest grid that ranks still share: the one where one of them has a single layer. With
  // one rank it is the coarsest of all.
  static int lowest_shared_level(int finest) {
    const long most = Domain::of_all_ranks().most_ranks_of_an_axis();
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const long fits = 1L << (3 * (finest - 1));
    require_at_most("mg", ranks, fits, "two points of the grid along each axis");
    return std::max(kCoarsest, log2_of(most));
  }

  void descend() {
    for (int level = finest_; level > shared_level_; --level) {
      shared_.restrict_from(level, level - 1 > shared_level_);
    }
    {
      Phases::Scope scope(times_, times_.gathering);
      shared_.domain().gather(shared_.r(shared_level_), alone_.r(shared_level_));
    }
    alone_.exchange(alone_.r(shared_level_));
  }

  void solve_alone() {
    for (int level = shared_level_; level > kCoarsest; --level) alone_.restrict_from(level, true);
    Cycle::clear(alone_.u(kCoarsest));
    alone_.smooth(kCoarsest);
    for (int level = kCoarsest + 1; level <= shared_level_; ++level) alone_.correct(level);
    take_own_block(alone_.u(shared_level_), shared_.u(shared_level_));
  }

  void take_own_block(const Grid& whole, Grid& mine) {
    std::array<int, 3> begin;
    for (int axis = 0; axis < 3; ++axis) {
      begin[axis] = shared_.domain().begin(axis, mine.extent[axis]);
    }
    for (int z = 0; z <= mine.extent[2] + 1; ++z) {
      for (int y = 0; y <= mine.extent[1] + 1; ++y) {
        std::copy_n(whole.values.data() + whole.at(begin[0], begin[1] + y, begin[2] + z), mine.row,
                    mine.values.data() + mine.at(0, y, z));
      }
    }
  }

  void ascend() {
    for (int level = shared_level_ + 1; level < finest_; ++level) shared_.correct(level);
    shared_.interpolate_to(finest_);
    shared_.residual(finest_, right_);
    shared_.smooth(finest_);
  }

  double norm() {
    const Grid& r = shared_.r(finest_);
    double sum = 0;
    for (int z = 1; z <= r.extent[2]; ++z) {
      for (int y = 1; y <= r.extent[1]; ++y) {
        const double* row = r.values.data() + r.at(0, y, z);
        for (int x = 1; x <= r.extent[0]; ++x) sum += row[x] * row[x];
      }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return std::sqrt(sum / static_cast<double>(1L << (3 * finest_)));
  }

  Times times_;
  int finest_, shared_level_;
  Cycle shared_, alone_;
  Grid right_;
};

void run(Report& report, const std::string& name) {
  const Class& problem = find_class(kClasses, name);
  Solver solver(problem);
  solver.solve(1);  // untimed, to touch all memory
  solver.times().reset();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  const double norm = solver.solve(problem.cycles);
  report.time(largest(MPI_Wtime() - began));
  report.parameter("class", problem.name);
  report.parameter("points along an axis", 1L << problem.log2_points);
  report.parameter("cycles", static_cast<long>(problem.cycles));
  // 58 operations for each point and cycle, as NPB counts them.
  report.rate(58.0 * problem.cycles * static_cast<double>(1L << (3 * problem.log2_points)));
  solver.times().report(report);
  report.check("norm of the residual", norm, problem.norm, kTolerance);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("mg", "NPB kernel MG: Poisson equation on a cube by multigrid");
  std::string name = "S";
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  return program.run(
      argc, argv, [&](sesame::workload::Report& report) { sesame::workload::run(report, name); });
}
