// iow, the file system benchmark of the SESAME report (6.4.1, 7.4): the time of each record that is
// written and read, over sizes of records.
#include <mpi.h>

#include <algorithm>

#include "io/iow/experiment.h"
#include "io/iow/plan.h"
#include "kit/files.h"
#include "kit/program.h"

namespace sesame::workload::iow {
namespace {

void describe(Report& report, const Plan& plan) {
  report.parameter("mode", plan.mode);
  report.parameter("size", plan.sizes);
  report.parameter("files", plan.files);
  if (plan.is_shared()) report.parameter("map", plan.map);
  report.parameter("interface", plan.interface);
  report.parameter("sync", plan.sync);
  report.parameter("direct", std::string(plan.direct ? "yes" : "no"));
  report.parameter("clear", std::string(plan.clear ? "yes" : "no"));
  report.parameter("stride", plan.stride);
  report.parameter("offset", plan.offset);
  report.parameter("shift", static_cast<long>(plan.shift));
  report.parameter("repeat", static_cast<long>(plan.repeat));
}

void run(Report& report, Plan plan) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(plan, ranks);
  double space = 0;
  for (long size = plan.from; size <= plan.to; size *= 2) {
    space = std::max(space, plan.extent(size, ranks));
  }
  Experiment experiment(plan, make_temporary_directory("--dir", plan.directory, space));
  describe(report, plan);
  // All sizes before the next repeat, so that a disturbance does not affect one size in all
  // repeats.
  for (int repeat = 0; repeat < plan.repeat; ++repeat) {
    for (long size = plan.from; size <= plan.to; size *= 2) experiment.run(size, repeat);
  }
  experiment.report(report);
}

void add_arguments(Arguments& arguments, Plan& plan) {
  arguments.add("--mode", plan.mode, "what is measured: write, read or both");
  arguments.add("--size", plan.sizes, "of a record: SIZE, or FROM:TO by factors of 2");
  arguments.add("--operations", plan.operations,
                "for each rank and size; 0: as many as --total takes, 2 to --most");
  arguments.add_size("--total", plan.total, "of what each rank writes for a size of records");
  arguments.add("--most", plan.most, "operations for each rank and size");
  arguments.add_size("--stride", plan.stride, "from record to record; 0: the size of a record");
  arguments.add_size("--offset", plan.offset, "where the first record begins");
  arguments.add("--files", plan.files, "shared: one of all ranks; each: one of each rank");
  arguments.add("--map", plan.map, "a shared file's records: block or cyclic over the ranks");
  arguments.add("--shift", plan.shift, "rank r reads what rank r + SHIFT wrote");
  arguments.add("--interface", plan.interface, "posix, stdio (buffered by the C library) or mpi");
  arguments.add("--sync", plan.sync, "sync data to the disk: none, end or each (record)");
  arguments.add("--direct", plan.direct, "past the page cache (O_DIRECT)");
  arguments.add("--clear", plan.clear, "drop the data from the page cache before reading");
  arguments.add("--repeat", plan.repeat, "times that all sizes are measured");
  arguments.add("--dir", plan.directory, "where the files lie while the program runs");
}

}  // namespace
}  // namespace sesame::workload::iow

int main(int argc, char** argv) {
  sesame::workload::Program program("iow", "file system benchmark: time of records over sizes");
  sesame::workload::iow::Plan plan;
  sesame::workload::iow::add_arguments(program.arguments(), plan);
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::iow::run(report, plan);
  });
}
