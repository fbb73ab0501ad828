// NPB pseudo-application BT (NPB specification, RNR-94-007, 3.3.5): Beam and Warming's approximate
// factorisation, a block tridiagonal system for each line of the grid in each direction.
#include <mpi.h>

#include <memory>
#include <string>

#include "kit/program.h"
#include "npb/bt/block_solver.h"
#include "npb/bt/dumps.h"
#include "npb/cfd/factored.h"

namespace sesame::workload::cfd {
namespace {

constexpr Operations kOperations = {3478.8, -17655.7, 28023.7, 0};
constexpr Class kClasses[] = {
    {"S",
     12,
     60,
     1.0e-2,
     {1.7034283709541311e-01, 1.2975252070034097e-02, 3.2527926989486055e-02,
      2.6436421275166801e-02, 1.9211784131744430e-01},
     {4.9976913345811579e-04, 4.5195666782961927e-05, 7.3973765172921357e-05,
      7.3821238632439731e-05, 8.9269630987491446e-04}},
    {"W",
     24,
     200,
     0.8e-3,
     {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02, 0.2469174937669e+02,
      0.2638427874317e+03},
     {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01, 0.9235878729944e+00,
      0.1018045837718e+02}},
    {"A",
     64,
     200,
     0.8e-3,
     {1.0806346714637264e+02, 1.1319730901220813e+01, 2.5974354511582465e+01,
      2.3665622544678910e+01, 2.5278963211748344e+02},
     {4.2348416040525025e+00, 4.4390282496995698e-01, 9.6692480136345650e-01,
      8.8302063039765474e-01, 9.7379901770829278e+00}},
    {"B",
     102,
     200,
     3.0e-4,
     {1.4233597229287254e+03, 9.9330522590150238e+01, 3.5646025644535285e+02,
      3.2485447959084092e+02, 3.2707541254659363e+03},
     {5.2969847140936856e+01, 4.4632896115670668e+00, 1.3122573342210174e+01,
      1.2006925323559144e+01, 1.2459576151035986e+02}},
};

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
  if (dumps) dumps->verify(report);
}

}  // namespace
}  // namespace sesame::workload::cfd

int main(int argc, char** argv) {
  sesame::workload::Program program("bt", "NPB pseudo-application BT: block tridiagonal solver");
  sesame::workload::cfd::Options options;
  program.arguments().add("--class", options.name, "problem class: S, W, A or B");
  program.arguments().add("--steps", options.steps, "time steps; 0: as published for the class");
  program.arguments().add("--io", options.io,
                          "write the solution every 5 steps (BTIO): none, simple, full or epio");
  program.arguments().add("--io-file", options.io_file, "the file to write; must not exist");
  program.arguments().add("--keep", options.keep, "leave what was written");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::cfd::run(report, options);
  });
}
