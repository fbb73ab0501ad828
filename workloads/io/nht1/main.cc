// An application I/O benchmark in the manner of NHT-1 (NASA RND-92-016): BT without and with its
// solution written every 5 steps, and what the disks can do without BT.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "io/nht1/peak.h"
#include "io/shared_file.h"
#include "kit/agree.h"
#include "kit/files.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/ranks.h"
#include "npb/bt/block_solver.h"
#include "npb/bt/dumps.h"
#include "npb/bt/problem.h"
#include "npb/cfd/factored.h"

namespace sesame::workload::nht1 {
namespace {

struct Options {
  std::string name = "S", io = "posix", directory = ".";
  int steps = 0, repeat = 3;
  PeakPlan peak;
};

constexpr int kWarmUp = 10;  // steps before anything is measured

double bytes_of_dumps(const cfd::Class& problem, int steps) {
  const double points = std::pow(problem.grid, 3);
  return points * cfd::kStates * sizeof(double) * (steps / cfd::Dumps::kInterval);
}

// BT, as often as wanted; without and with dumps in turn, so that a machine that becomes slower or
// faster does not look like I/O.
class Runs {
 public:
  Runs(const cfd::Class& problem, int steps, std::string io, std::string file)
      : problem_(problem), steps_(steps), io_(std::move(io)), file_(std::move(file)) {}

  // The first steps of all are slower than others.
  void warm_up() {
    cfd::Factored<cfd::BlockSolver> bt("nht1", problem_);
    for (int step = 0; step < kWarmUp; ++step) bt.step();
  }

  // `report` gets what the dumps say of themselves.
  void run(bool with_dumps, Report& report) {
    cfd::Factored<cfd::BlockSolver> bt("nht1", problem_);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    std::unique_ptr<cfd::Dumps> dumps;
    if (with_dumps) dumps = std::make_unique<cfd::Dumps>(io_, file_, false, bt.domain());
    for (int step = 1; step <= steps_; ++step) {
      bt.step();
      if (dumps && step % cfd::Dumps::kInterval == 0) dumps->write();
    }
    if (dumps) dumps->finish();
    const double other_s = dumps ? dumps->other_time() : 0;
    with_.push_back(with_dumps);
    seconds_.push_back(largest(MPI_Wtime() - began - other_s));
    if (dumps) dumps->verify(report);
    Report answer("bt", 0);
    bt.finish(answer, problem_, steps_);
    wrong_ += answer.verdict() == Report::Verdict::kWrong;
  }

  double median(bool with_dumps) const {
    std::vector<double> chosen;
    for (std::size_t i = 0; i < seconds_.size(); ++i) {
      if ((with_[i] != 0) == with_dumps) chosen.push_back(seconds_[i]);
    }
    const auto middle = chosen.begin() + chosen.size() / 2;
    std::nth_element(chosen.begin(), middle, chosen.end());
    return *middle;
  }

  void report(Report& report) const {
    report.column("run", "with dumps", "", with_);
    report.column("run", "time", "s", seconds_);
    report.check_exact("runs of bt with a wrong answer", wrong_, 0);
  }

 private:
  const cfd::Class& problem_;
  int steps_;
  std::string io_, file_;
  std::vector<double> with_, seconds_;
  std::int64_t wrong_ = 0;
};

void compare(Report& report, const Runs& runs, double bytes) {
  const double without_s = runs.median(false), with_s = runs.median(true);
  report.time(with_s);
  report.figure("time without I/O", without_s, "s");
  report.figure("time with I/O", with_s, "s");
  if (without_s > 0) report.figure("overhead of I/O", 100 * (with_s / without_s - 1), "%");
  // Runs that happened to be faster with I/O have no rate.
  if (with_s > without_s)
    report.figure("effective rate", bytes / (with_s - without_s) * 1e-6, "MB/s");
  runs.report(report);
}

void run(Report& report, const Options& options) {
  const int ranks = number_of_ranks();
  const cfd::Class& problem = find_class(cfd::kClasses, options.name);
  const int steps = options.steps > 0 ? options.steps : problem.steps;
  check(options.peak);
  if (options.repeat < 1) throw UsageError("--repeat: expected a positive number");
  require_square("nht1", ranks);
  cfd::Dumps::check_mode(options.io);
  check_interface(options.io == "posix" ? "posix" : "mpi");
  const double bytes = bytes_of_dumps(problem, steps);
  const double space = std::max(bytes, static_cast<double>(options.peak.bytes) * ranks);
  const std::string directory = make_temporary_directory("--dir", options.directory, space);
  report.parameter("class", options.name);
  report.parameter("steps", static_cast<long>(steps));
  report.parameter("bytes", options.peak.bytes);
  report.parameter("record", options.peak.record);
  Runs runs(problem, steps, options.io, directory + "/dumps");
  runs.warm_up();
  for (int i = 1; i <= options.repeat; ++i) {
    Report aside("bt", ranks);
    runs.run(false, aside);
    runs.run(true, i == options.repeat ? report : aside);
    if (aside.verdict() == Report::Verdict::kWrong) throw Failure("dumps were read back wrong");
  }
  compare(report, runs, bytes);
  measure_peak(report, options.peak, directory);
  if (steps != problem.steps) report.not_verifiable("the answer is published for other steps");
}

}  // namespace
}  // namespace sesame::workload::nht1

int main(int argc, char** argv) {
  sesame::workload::Program program("nht1", "application I/O: BT with and without its dumps");
  sesame::workload::nht1::Options options;
  program.arguments().add("--class", options.name, "problem class of BT: S, W, A or B");
  program.arguments().add("--steps", options.steps, "time steps; 0: as published for the class");
  program.arguments().add("--io", options.io, "how dumps are written: posix, simple, full or epio");
  program.arguments().add("--repeat", options.repeat, "runs without and with I/O");
  program.arguments().add_size("--bytes", options.peak.bytes, "of each rank in the test of disks");
  program.arguments().add_size("--record", options.peak.record, "of a record in the test of disks");
  program.arguments().add("--dir", options.directory, "where the files lie while the program runs");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::nht1::run(report, options);
  });
}
