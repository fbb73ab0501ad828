// NPB pseudo-application BT (NPB specification, RNR-94-007, 3.3.5): Beam and Warming's approximate
// factorisation, a block tridiagonal system for each line of the grid in each direction.
#include <mpi.h>

#include <memory>
#include <string>

#include "kit/program.h"
#include "npb/bt/block_solver.h"
#include "npb/bt/dumps.h"
#include "npb/bt/problem.h"
#include "npb/cfd/factored.h"

namespace sesame::workload::cfd {
namespace {

struct Options {
  std::string name = "S";
  int steps = 0;
  std::string io = "none", io_file = "bt.dumps";
  bool keep = false;
};

void run(Report& report, const Options& options) {
  const Class& problem = find_class(kClasses, options.name);
  const int steps = options.steps > 0 ? options.steps : problem.steps;
  Factored<BlockSolver> bt("bt", problem);
  std::unique_ptr<Dumps> dumps;
  if (options.io != "none") {
    dumps = std::make_unique<Dumps>(options.io, options.io_file, options.keep, bt.domain());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int step = 1; step <= steps; ++step) {
    bt.step();
    if (dumps && step % Dumps::kInterval == 0) dumps->write();
  }
  const double other = dumps ? dumps->other_time() : 0;
  describe(report, problem, steps, largest(MPI_Wtime() - began - other), kOperations);
  bt.finish(report, problem, steps);
  if (dumps) {
    dumps->finish();
    dumps->verify(report);
  }
}

}  // namespace
}  // namespace sesame::workload::cfd

int main(int argc, char** argv) {
  sesame::workload::Program program("bt", "NPB pseudo-application BT: block tridiagonal solver");
  sesame::workload::cfd::Options options;
  program.arguments().add("--class", options.name, "problem class: S, W, A or B");
  program.arguments().add("--steps", options.steps, "time steps; 0: as published for the class");
  program.arguments().add(
      "--io", options.io,
      "write the solution every 5 steps (BTIO): none, posix, simple, full or epio");
  program.arguments().add("--io-file", options.io_file, "the file to write; must not exist");
  program.arguments().add("--keep", options.keep, "leave what was written");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::cfd::run(report, options);
  });
}
