// Reads a sparse matrix in extended form from one file, compresses it and multiplies it with
// vectors (S. Nastea, T. El-Ghazawi and O. Frieder: Parallel Input/Output for Sparse Matrix
// Computations, 1996).
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "io/shared_file.h"
#include "io/sparse/measurement.h"
#include "kit/files.h"
#include "kit/program.h"
#include "kit/ranks.h"

namespace sesame::workload::sparse {
namespace {

struct Options {
  std::string matrix, like, directory = ".";
  long order = 600, nonzeros = 9000, vectors = 25;
  double skew = 0, product_ns = 0;
  std::string interface = "posix", mode = "async", work = "static";
  std::vector<long> read_sizes = {64 << 10};
  bool cold = false;

  void add_to(Arguments& arguments) {
    arguments.add("--matrix", matrix, "a matrix in extended form; without it one is made");
    arguments.add("--like", like, "order and nonzeros of orani678, psmigr1 or bcsstk28");
    arguments.add("--order", order, "rows and columns of the matrix that is made");
    arguments.add("--nonzeros", nonzeros, "nonzeros of the matrix that is made");
    arguments.add("--skew", skew, "row i has nonzeros in proportion to (i + 1)^-SKEW");
    arguments.add("--dir", directory, "where the matrix that is made lies while the program runs");
    arguments.add("--vectors", vectors, "how many vectors to multiply with");
    arguments.add("--product-time", product_ns,
                  "nanoseconds to wait for each nonzero and vector, beside the computation");
    arguments.add("--interface", interface, "posix or mpi");
    arguments.add("--mode", mode, "file access mode: unix, log, sync, record, global or async");
    arguments.add("--work", work, "who reads what: static, dynamic or both, one after the other");
    arguments.add_sizes("--read-size", read_sizes, "size of a read, or sizes with commas between");
    arguments.add("--cold", cold, "drop the file from the page cache before reading");
  }
};

// The matrix, and its rows as they should be.
struct Problem {
  ExtendedFile file;
  RowSource rows;
};

Problem given(const std::string& path) {
  const ExtendedFile file = open_extended("--matrix", path);
  return {file, [file](Block rows) { return read_rows(file, rows); }};
}

Problem made(const Options& options, const MatrixSize& size) {
  const auto matrix = std::make_shared<GeneratedMatrix>(size);
  const ExtendedFile plan{"", size.order, size.nonzeros};
  const std::string directory = make_temporary_directory("--dir", options.directory, plan.bytes());
  const ExtendedFile file = write_extended(directory + "/matrix", *matrix, size.nonzeros);
  return {file, [matrix](Block rows) {
            std::vector<double> numbers(rows.size() * matrix->order());
            for (long i = 0; i < rows.size(); ++i) {
              matrix->row(rows.begin + i, &numbers[i * matrix->order()]);
            }
            return numbers;
          }};
}

Problem problem_of(const Options& options) {
  if (!options.matrix.empty()) return given(options.matrix);
  MatrixSize size{options.order, options.nonzeros, options.skew};
  if (!options.like.empty()) {
    size = matrix_size_of(options.like);
    size.skew = options.skew;
  }
  return made(options, size);
}

std::vector<std::string> works_of(const Options& options, Mode mode) {
  if (options.work == "static") return {"static"};
  if (options.work != "dynamic" && options.work != "both") {
    throw UsageError("--work " + options.work + ": expected static, dynamic or both");
  }
  if (!is_independent(mode)) {
    throw UsageError("--work " + options.work + " lets each rank read when it wants, with a file " +
                     "pointer of its own: --mode unix or async, not " + options.mode);
  }
  if (number_of_ranks() < 2) {
    throw UsageError("--work " + options.work + " needs at least 2 ranks, a manager and a worker");
  }
  if (options.work == "dynamic") return {"dynamic"};
  return {"static", "dynamic"};
}

// As many rows as come nearest to the wanted size.
long rows_for(long size, const ExtendedFile& file) {
  if (size < 1) throw UsageError("--read-size: expected at least 1");
  const long rows = std::lround(static_cast<double>(size) / static_cast<double>(file.row_bytes()));
  // MPI counts bytes in an int, and with --mode global the chunks of all ranks are one message.
  const long most = std::numeric_limits<int>::max() / (file.row_bytes() * number_of_ranks());
  if (std::max(rows, 1L) > most) {
    throw UsageError("--read-size " + std::to_string(size) + ": the reads of all ranks together " +
                     "must be less than 2 GiB");
  }
  return std::clamp(rows, 1L, file.order);
}

// All passes over the matrix: for each size, for each way to share the work.
class Study {
 public:
  Study(const Options& options, const Problem& problem)
      : options_(options),
        problem_(problem),
        mode_(mode_of(options.mode)),
        works_(works_of(options, mode_)),
        vectors_(problem.file.order, options.vectors) {}

  void run() {
    for (long size : options_.read_sizes) {
      const long rows = rows_for(size, problem_.file);
      read_bytes_.push_back(static_cast<double>(rows * problem_.file.row_bytes()));
      for (const std::string& work : works_) {
        const Plan plan{options_.interface,        mode_, work == "dynamic", rows, options_.cold,
                        options_.product_ns * 1e-9};
        passes_.push_back(measure(plan, problem_.file, vectors_, problem_.rows));
      }
    }
  }

  void report(Report& report) const {
    const ExtendedFile& file = problem_.file;
    double time = 0;
    long rows_right = 0;
    for (const Measurement& pass : passes_) {
      time += pass.longest(kTotal);
      rows_right += pass.rows_right;
    }
    report.time(time);
    report_parameters(report);
    const Measurement& last = passes_.back();
    const double order = static_cast<double>(file.order);
    report.figure("matrix in extended form", file.bytes(), "B");
    report.figure("sparsity", last.total(kNonzeros) / (order * order), "");
    report.figure("compressed / extended", last.compressed_bytes / file.bytes(), "");
    report.figure("longest computation / mean", last.imbalance(), "");
    report.figure("estimate of the time", last.estimate(), "s");
    if (last.longest(kTotal) > 0) {
      report.figure("rate of reading", file.bytes() / last.longest(kTotal) * 1e-6, "MB/s");
    }
    const long passes = static_cast<long>(passes_.size());
    report.check_exact("rows multiplied right", rows_right, file.order * passes);
    report.check_exact("nonzeros", std::lround(last.total(kNonzeros)), file.nonzeros);
    report_ranks(report, last);
    report_passes(report);
  }

 private:
  void report_parameters(Report& report) const {
    if (!options_.matrix.empty()) {
      report.parameter("matrix", options_.matrix.substr(options_.matrix.rfind('/') + 1));
    }
    report.parameter("order", problem_.file.order);
    report.parameter("nonzeros", problem_.file.nonzeros);
    report.parameter("vectors", options_.vectors);
    if (options_.product_ns > 0) report.parameter("product time (ns)", options_.product_ns);
    report.parameter("interface", options_.interface);
    report.parameter("mode", options_.mode);
    report.parameter("work", options_.work);
  }

  // Table "passes": times of the slowest rank by size of the reads, as in Figures 5 to 10.
  void report_passes(Report& report) const {
    report.column("passes", "read size", "B", read_bytes_);
    for (std::size_t w = 0; w < works_.size(); ++w) {
      add_column(report, w, "seek", [](const Measurement& p) { return p.longest(kSeek); });
      add_column(report, w, "read", [](const Measurement& p) { return p.longest(kRead); });
      add_column(report, w, "compute", [](const Measurement& p) {
        double most = 0;
        for (const Counts& c : p.ranks) most = std::max(most, c[kCompress] + c[kMultiply]);
        return most;
      });
      add_column(report, w, "messages", [](const Measurement& p) { return p.longest(kMessages); });
      add_column(report, w, "total", [](const Measurement& p) { return p.longest(kTotal); });
    }
  }

  template <typename Pick>
  void add_column(Report& report, std::size_t work, const std::string& name, Pick pick) const {
    std::vector<double> values;
    for (std::size_t i = work; i < passes_.size(); i += works_.size()) {
      values.push_back(pick(passes_[i]));
    }
    report.column("passes", works_[work] + " " + name, "s", values);
  }

  const Options& options_;
  const Problem& problem_;
  Mode mode_;
  std::vector<std::string> works_;
  Vectors vectors_;
  std::vector<double> read_bytes_;
  std::vector<Measurement> passes_;
};

void run(Report& report, const Options& options) {
  if (options.vectors < 0) throw UsageError("--vectors: expected at least 0");
  if (!(options.product_ns >= 0 && options.product_ns <= 1e9)) {
    throw UsageError("--product-time: expected nanoseconds from 0 to 10^9");
  }
  const Mode mode = mode_of(options.mode);
  works_of(options, mode);
  check_interface(options.interface);
  const Problem problem = problem_of(options);
  for (long size : options.read_sizes) rows_for(size, problem.file);  // what is wrong, at once
  Study study(options, problem);
  study.run();
  study.report(report);
}

}  // namespace
}  // namespace sesame::workload::sparse

int main(int argc, char** argv) {
  sesame::workload::Program program(
      "sparse", "reads a sparse matrix from a file, compresses it and multiplies it with vectors");
  sesame::workload::sparse::Options options;
  options.add_to(program.arguments());
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::sparse::run(report, options);
  });
}
