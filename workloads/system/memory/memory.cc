// Memory as a program finds it: the time to touch pages, first and again (Evaluation Metrics for
// the Paragon XP/S-15, RND-93-017, 3.4.3), and the bandwidth of the caches and of memory.
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kit/phases.h"
#include "kit/program.h"
#include "system/memory/pages.h"
#include "system/memory/streams.h"

namespace sesame::workload {
namespace {

struct Options {
  long pages = 2800;  // as the report has it
  long most = 64L << 20;
  int repeat = 5;
};

void check_options(const Options& options) {
  if (options.pages < 16) {
    throw UsageError("--pages " + std::to_string(options.pages) + ": expected at least 16");
  }
  if (options.most < 4096 || options.most > 1L << 40) {
    throw UsageError("--most " + std::to_string(options.most) +
                     ": expected a size from 4 KiB to 1 TiB");
  }
  if (options.repeat < 1) {
    throw UsageError("--repeat " + std::to_string(options.repeat) + ": expected at least 1");
  }
}

// Every rank has its own; what is reported is the slowest of them.
void measure_pages(Report& report, const Options& options, long& wrong) {
  std::vector<double> pages, first, second;
  const long step = std::max(1L, options.pages / 100);
  for (long count = step; count <= options.pages; count += step) {
    double times[2] = {1e9, 1e9};
    for (int i = 0; i < options.repeat; ++i) {
      const PageTimes sample = touch_pages(count);
      times[0] = std::min(times[0], sample.first);
      times[1] = std::min(times[1], sample.second);
      wrong += sample.wrong;
    }
    pages.push_back(static_cast<double>(count));
    first.push_back(largest(times[0]));
    second.push_back(largest(times[1]));
  }
  report.column("pages", "pages", "", pages);
  report.column("pages", "first", "s", first);
  report.column("pages", "second", "s", second);
}

void measure_bandwidth(Report& report, const Options& options, long& wrong) {
  Streams streams(options.most);
  std::vector<double> sizes, read, write, copy;
  for (long base = 1024; base <= options.most; base *= 2) {
    for (long quarter = 0; quarter < 4; ++quarter) {
      const long size = base + base / 4 * quarter;
      if (size > options.most) break;
      MPI_Barrier(MPI_COMM_WORLD);  // all ranks use the memory at the same time
      const Bandwidths found = streams.measure(size, options.repeat);
      wrong += found.wrong;
      sizes.push_back(static_cast<double>(size));
      read.push_back(-largest(-found.read));
      write.push_back(-largest(-found.write));
      copy.push_back(-largest(-found.copy));
    }
  }
  report.column("bandwidth", "size", "B", sizes);
  report.column("bandwidth", "read", "B/s", read);
  report.column("bandwidth", "write", "B/s", write);
  report.column("bandwidth", "copy", "B/s", copy);
}

void run(Report& report, const Options& options) {
  check_options(options);
  report.parameter("pages", options.pages);
  report.parameter("page_bytes", page_bytes());
  report.parameter("most", options.most);
  report.parameter("repeat", long{options.repeat});
  const double began = MPI_Wtime();
  long mine = 0, wrong = 0;
  measure_pages(report, options, mine);
  measure_bandwidth(report, options, mine);
  MPI_Allreduce(&mine, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  report.time(MPI_Wtime() - began);
  report.check_exact("wrong contents", wrong, 0);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("memory", "pages and bandwidth of memory");
  sesame::workload::Options options;
  program.arguments().add("--pages", options.pages, "most pages to touch");
  program.arguments().add_size("--most", options.most, "largest working set");
  program.arguments().add("--repeat", options.repeat, "samples, of which the best counts");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::run(report, options);
  });
}
