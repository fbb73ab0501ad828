// Out-of-core matrix multiplication (SESAME report, 8.2.1, 8.2.4 and 8.2.5).
#include <mpi.h>

#include <algorithm>
#include <limits>

#include "io/oocmm/multiplication.h"
#include "io/oocmm/verification.h"
#include "io/shared_file.h"
#include "kit/files.h"
#include "kit/phases.h"
#include "kit/program.h"

namespace sesame::workload::oocmm {
namespace {

constexpr long kNumber = sizeof(double);
constexpr long kMostBytes = std::numeric_limits<int>::max();  // of a request: MPI counts in an int

struct Options {
  long order = 96, columns = 1, memory = 16 << 10;
  std::string access = "staggered", storage = "row", interface = "posix", directory = ".";
  bool collective = false;

  void add_to(Arguments& arguments) {
    arguments.add("--order", order, "rows and columns of the matrices");
    arguments.add_size("--memory", memory, "what a rank may hold of the matrices");
    arguments.add("--columns", columns, "columns of the second matrix that are read at a time");
    arguments.add("--access", access, "staggered: each rank begins at another column; together");
    arguments.add("--storage", storage, "how the second matrix lies in its file: by row or column");
    arguments.add("--collective", collective, "a column is read once for all ranks");
    arguments.add("--interface", interface, "posix or mpi");
    arguments.add("--dir", directory, "where the matrices lie while the program runs");
  }
};

// One of two words.
bool is_first(const std::string& option, const std::string& given, const std::string& first,
              const std::string& second) {
  if (given == first || given == second) return given == first;
  throw UsageError(option + " " + given + ": expected " + first + " or " + second);
}

// Rows of the first matrix and of the product, and columns of the second, must fit.
long rows_for(const Options& options) {
  const long lines = options.memory / (kNumber * options.order);
  const long rows = (lines - options.columns) / 2;
  if (rows >= 1) return std::min(rows, kMostBytes / (kNumber * options.order));
  const long least = (2 + options.columns) * options.order * kNumber;
  throw UsageError("--memory: a row of the first matrix, one of the product and " +
                   std::to_string(options.columns) + " of the second matrix's columns need " +
                   std::to_string(least) + " bytes; " + std::to_string(options.memory) + " given");
}

Plan plan_of(const Options& options) {
  constexpr long kMostOrder = 1'000'000;
  if (options.order < 1 || options.order > kMostOrder) {
    throw UsageError("--order: expected from 1 to " + std::to_string(kMostOrder));
  }
  if (options.columns < 1 || options.columns > options.order) {
    throw UsageError("--columns: expected from 1 to the order of the matrices");
  }
  if (options.columns * options.order * kNumber > kMostBytes) {
    throw UsageError("--columns: expected columns that together have less than 2 GiB");
  }
  check_interface(options.interface);
  const bool staggered = is_first("--access", options.access, "staggered", "together");
  const bool by_row = is_first("--storage", options.storage, "row", "column");
  if (options.collective && staggered) {
    throw UsageError("--collective needs ranks that want the same column: --access together");
  }
  return {options.order,      rows_for(options), options.columns,  staggered,
          options.collective, !by_row,           options.interface};
}

// The sum over all ranks, on rank 0.
Requests added_up(const Requests& mine) {
  Requests all;
  // A rank without rows has no requests, and no size.
  const long none = mine.count == 0;
  const long size = none ? 1L << 62 : mine.smallest;
  MPI_Reduce(&mine.count, &all.count, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine.bytes, &all.bytes, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&size, &all.smallest, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine.largest, &all.largest, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  return all;
}

// Table "files".
void report_requests(Report& report, const std::vector<Requests>& files) {
  std::vector<double> count, bytes, smallest, mean, largest;
  for (const Requests& file : files) {
    const auto requests = static_cast<double>(file.count);
    count.push_back(requests);
    bytes.push_back(file.bytes);
    smallest.push_back(static_cast<double>(file.smallest));
    mean.push_back(requests > 0 ? file.bytes / requests : 0);
    largest.push_back(static_cast<double>(file.largest));
  }
  report.column("files", "file", "", std::vector<std::string>{"first", "second", "product"});
  report.column("files", "requests", "", count);
  report.column("files", "bytes", "B", bytes);
  report.column("files", "smallest request", "B", smallest);
  report.column("files", "mean request", "B", mean);
  report.column("files", "largest request", "B", largest);
}

void report_parameters(Report& report, const Options& options, const Plan& plan) {
  report.parameter("order", plan.order);
  report.parameter("memory", options.memory);
  report.parameter("rows", plan.rows);
  report.parameter("columns", plan.columns);
  report.parameter("access", options.access);
  report.parameter("storage", options.storage);
  report.parameter("reading", std::string(plan.collective ? "collective" : "alone"));
  report.parameter("interface", options.interface);
}

void run(Report& report, const Options& options) {
  const Plan plan = plan_of(options);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double order = static_cast<double>(plan.order);
  const double bytes = 3 * order * order * kNumber;
  const Files files{make_temporary_directory("--dir", options.directory, bytes)};
  write_factors(plan, files);
  Phases phases;
  const Work work = multiply(plan, files, phases);
  const Requests first = added_up(work.first), second = added_up(work.second),
                 product = added_up(work.product);
  report_parameters(report, options, plan);
  report.time(work.time_s);
  report.rate(2 * order * order * order);
  report.figure("memory / matrices", static_cast<double>(options.memory) / bytes, "");
  report.figure("bytes of requests", first.bytes + second.bytes + product.bytes, "B");
  if (work.time_s > 0) {
    const auto requests = static_cast<double>(first.count + second.count + product.count);
    report.figure("requests in a second", requests / work.time_s, "1/s");
  }
  const Expected expected = expected_requests(plan, ranks);
  report.check_exact("rows right", rows_that_are_right(plan, files), plan.order);
  report.check_exact("requests to first", first.count, expected.first);
  report.check_exact("requests to second", second.count, expected.second);
  report.check_exact("requests to product", product.count, expected.product);
  phases.report(report);
  report_requests(report, {first, second, product});
}

}  // namespace
}  // namespace sesame::workload::oocmm

int main(int argc, char** argv) {
  sesame::workload::Program program("oocmm", "multiplies matrices that lie in files");
  sesame::workload::oocmm::Options options;
  options.add_to(program.arguments());
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::oocmm::run(report, options);
  });
}
