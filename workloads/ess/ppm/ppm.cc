// Gas dynamics by the piecewise parabolic method on a plane: a blast in a moving gas, and a shock
// tube to check the method with.
#include <fcntl.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "ess/ppm/flow.h"
#include "ess/ppm/shock_tube.h"
#include "kit/files.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

constexpr double kConserved = 1e-12;  // relative
constexpr long kTubeCells = 100, kTubeWidth = 4;
constexpr double kTubeTime = 0.2;
// Largest mean error of the density in Sod's tube. It is not zero for any method, since a shock and
// a contact are a cell or two wide. With flat cells instead of parabolas it would be four times as
// large.
constexpr double kTubeError = 0.007;
// Between the waves, to five digits: Toro, table 4.3.
constexpr double kTubePressure = 0.30313, kTubeVelocity = 0.92745, kTubeDigits = 2e-5;
constexpr Gas kSodLeft{1, 0, 0, 1}, kSodRight{0.125, 0, 0, 0.1};

struct Options {
  int width = 120, height = 120, steps = 40, every = 10;
  std::string border = "periodic", directory = ".", output;
};

// A hot disc in a cooler gas that moves.
Gas blast(double x, double y, double width, double height) {
  const double from_x = x - width / 2, from_y = y - height / 2;
  const bool inside = std::hypot(from_x, from_y) < 0.15 * std::min(width, height);
  return {1, 0.3, 0.2, inside ? 10.0 : 0.1};
}

// Writes a line of statistics for each interval of the run, and the density at the end.
class Results {
 public:
  Results(const std::string& directory, long width) : directory_(directory), width_(width) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (rank_ == 0) {
      statistics_ = File::open(directory + "/statistics", O_WRONLY | O_CREAT | O_TRUNC);
      File::open(directory + "/density", O_WRONLY | O_CREAT | O_TRUNC).close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void write_line(int step, double time, const Conserved& totals) {
    if (rank_ != 0) return;
    char line[160];
    const int length =
        std::snprintf(line, sizeof line, "%8d %22.15e %22.15e %22.15e %22.15e %22.15e\n", step,
                      time, totals[0], totals[1], totals[2], totals[3]);
    statistics_.write(line, length, statistics_bytes_);
    statistics_bytes_ += length;
    ++requests_;
  }

  void write_density(const Flow& flow) {
    const File file = File::open(directory_ + "/density", O_WRONLY);
    std::vector<double> density;
    const long row_bytes = width_ * static_cast<long>(sizeof(double));
    for (long row = flow.rows().begin; row < flow.rows().end; ++row) {
      density.clear();
      for (long x = 0; x < width_; ++x) density.push_back(flow.at(x, row)[0]);
      file.write(density.data(), row_bytes, row * row_bytes);
      ++requests_;
      written_ += row_bytes;
    }
  }

  void report(Report& report) const {
    long sums[2] = {requests_, written_ + statistics_bytes_};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    report.figure("write requests", static_cast<double>(sums[0]), "1");
    report.figure("bytes written", static_cast<double>(sums[1]), "B");
  }

 private:
  std::string directory_;
  long width_;
  int rank_ = 0;
  File statistics_;
  long statistics_bytes_ = 0, requests_ = 0, written_ = 0;
};

void check_options(const Options& options) {
  if (options.width < kGhosts || options.width > 1 << 15 || options.height > 1 << 15) {
    throw UsageError("--width and --height take 4 to 32768");
  }
  if (options.steps < 1 || options.every < 1) {
    throw UsageError("--steps and --every take numbers above 0");
  }
  if (options.border != "periodic" && options.border != "outflow") {
    throw UsageError("--border " + options.border + ": expected periodic or outflow");
  }
  require_at_most("ppm", number_of_ranks(), options.height / kGhosts, "each has at least 4 rows");
}

void check_conserved(const Conserved& before, const Conserved& after, Report& report) {
  const char* names[] = {"mass", "momentum in x", "momentum in y", "energy"};
  for (int k = 0; k < 4; ++k) report.check(names[k], after[k], before[k], kConserved);
}

// The mean error of the density in Sod's problem along rows or across slabs. Collective over
// `comm`.
double shock_tube_error(MPI_Comm comm, bool along_rows) {
  const double cell = 1.0 / kTubeCells;
  const long width = along_rows ? kTubeCells : kTubeWidth;
  const long height = along_rows ? kTubeWidth : kTubeCells;
  Flow flow(comm, width, height, cell, Border::kOutflow,
            [&](double x, double y) { return (along_rows ? x : y) < 0.5 ? kSodLeft : kSodRight; });
  for (double time = 0; time < kTubeTime;) time += flow.step(kTubeTime - time);
  const ShockTube exact(kSodLeft, kSodRight);
  std::vector<double> errors(height);
  for (long row = flow.rows().begin; row < flow.rows().end; ++row) {
    for (long x = 0; x < width; ++x) {
      const double place = (static_cast<double>(along_rows ? x : row) + 0.5) * cell - 0.5;
      errors[row] += std::abs(flow.at(x, row)[0] - exact.at(place / kTubeTime).density);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, errors.data(), static_cast<int>(height), MPI_DOUBLE, MPI_SUM, comm);
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(width * height);
}

// Along x on rank 0, along y on as many ranks as have enough rows.
void check_shock_tube(Report& report) {
  const int rank = this_rank();
  const int some = std::min<int>(number_of_ranks(), kTubeCells / kGhosts);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank < some ? 0 : MPI_UNDEFINED, rank, &part);
  double errors[2] = {};
  if (rank == 0) errors[0] = shock_tube_error(MPI_COMM_SELF, true);
  if (part != MPI_COMM_NULL) {
    errors[1] = shock_tube_error(part, false);
    MPI_Comm_free(&part);
  }
  const ShockTube exact(kSodLeft, kSodRight);
  report.check("pressure in the exact tube", exact.pressure(), kTubePressure, kTubeDigits);
  report.check("velocity in the exact tube", exact.velocity(), kTubeVelocity, kTubeDigits);
  report.check("error of a tube along x", errors[0], 0, kTubeError);
  report.check("error of a tube along y", errors[1], 0, kTubeError);
}

struct History {
  std::vector<double> times, steps, masses, energies;
};

double run_blast(const Options& options, Flow& flow, Results& results, History& history) {
  double time = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 1; i <= options.steps; ++i) {
    time += flow.step(1e30);
    if (i % options.every != 0) continue;
    const Conserved totals = flow.totals();
    results.write_line(i, time, totals);
    history.times.push_back(time);
    history.masses.push_back(totals[0]);
    history.energies.push_back(totals[3]);
  }
  results.write_density(flow);
  return largest(MPI_Wtime() - begin);
}

void run(const Options& options, Report& report) {
  check_options(options);
  report.parameter("width", long{options.width});
  report.parameter("height", long{options.height});
  report.parameter("steps", long{options.steps});
  report.parameter("border", options.border);
  const double cell = 1.0 / options.width;
  const double points = static_cast<double>(options.width) * options.height;
  const bool keeps = !options.output.empty();
  const std::string directory = make_temporary_directory(
      keeps ? "--output" : "--dir", keeps ? options.output : options.directory, 9 * points);
  Flow flow(MPI_COMM_WORLD, options.width, options.height, cell,
            options.border == "periodic" ? Border::kPeriodic : Border::kOutflow,
            [&](double x, double y) { return blast(x, y, 1, options.height * cell); });
  const Conserved before = flow.totals();
  Results results(directory, options.width);
  History history;
  const double seconds = run_blast(options, flow, results, history);
  report.time(seconds);
  if (seconds > 0) report.figure("cells", points * options.steps / seconds * 1e-6, "million/s");
  results.report(report);
  if (options.border == "periodic") check_conserved(before, flow.totals(), report);
  check_shock_tube(report);
  report.column("totals", "time", "1", history.times);
  report.column("totals", "mass", "1", history.masses);
  report.column("totals", "energy", "1", history.energies);
  flow.report(report);
  if (keeps) keep_files(report, directory, options.output);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  using namespace sesame::workload;
  Program program("ppm", "gas dynamics by the piecewise parabolic method");
  Options options;
  Arguments& arguments = program.arguments();
  arguments.add("--width", options.width, "cells in x");
  arguments.add("--height", options.height, "cells in y");
  arguments.add("--steps", options.steps, "how many steps");
  arguments.add("--every", options.every, "steps between lines of statistics");
  arguments.add("--border", options.border, "periodic or outflow");
  arguments.add("--dir", options.directory, "where files lie while the program runs");
  arguments.add("--output", options.output, "directory that keeps statistics and density");
  return program.run(argc, argv, [&](Report& report) { run(options, report); });
}
