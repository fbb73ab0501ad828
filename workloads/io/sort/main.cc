// sesame-sort, the test program of the SESAME report (6.4.1, 7.1): a parallel sort of a file that
// uses files, processor, memory and messages in turn.
#include <fcntl.h>
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "io/sort/numbers.h"
#include "io/sort/sorter.h"
#include "io/sort/stamps.h"
#include "kit/agree.h"
#include "kit/files.h"
#include "kit/program.h"
#include "kit/ranks.h"

namespace sesame::workload::sort {
namespace {

struct Options {
  std::string input, output, directory = ".";
  long count = 0, seed = 1;
  double portion = 0.5;
};

constexpr long kUsualCount = 1 << 20;
constexpr long kNumberBytes = sizeof(double);

// The names and sizes of one run.
struct Job {
  std::string input, output;
  bool generated;
  long count;
  Block block;  // of this rank
};

// What is wrong with the given input, or empty; sets the count where none is given.
std::string check_input(const std::string& path, long& count) {
  try {
    const long size = File::open(path, O_RDONLY).size();
    if (count == 0) count = size / kNumberBytes;
    if (size >= count * kNumberBytes && size % kNumberBytes == 0) return "";
    return "--input " + path + ": has " + std::to_string(size) + " bytes, expected " +
           (count > size / kNumberBytes ? std::to_string(count * kNumberBytes) + " at least"
                                        : "whole numbers of 8 bytes");
  } catch (const FileError& error) {
    return std::string("--input ") + error.what();
  }
}

void check(const Options& options) {
  if (options.count < 0) throw UsageError("--count: expected a positive number");
  if (!(options.portion > 0 && options.portion <= 1)) {
    throw UsageError("--portion: expected more than 0 and at most 1");
  }
  if (options.output.empty()) return;
  const bool exists = this_rank() == 0 && std::filesystem::exists(options.output);
  refuse_if_any(exists ? "--output " + options.output + ": the file exists" : "");
}

Job make_job(const Options& options) {
  check(options);
  const int ranks = number_of_ranks();
  Job job = {options.input, "", options.input.empty(), options.count, {}};
  if (job.generated && job.count == 0) job.count = kUsualCount;
  if (!job.generated) refuse_if_any(check_input(job.input, job.count));
  if (job.count < ranks) {
    throw UsageError(std::to_string(job.count) + " numbers are less than one for each rank");
  }
  if (job.count / ranks >= INT_MAX / 2) throw UsageError("too many numbers for each rank");
  job.block = block_of(job.count, ranks, this_rank());
  const double bytes = static_cast<double>(job.count) * sizeof(double);
  if (!options.output.empty()) {
    const auto parent = std::filesystem::path(options.output).parent_path().string();
    job.output =
        make_temporary_directory("--output: the directory", parent.empty() ? "." : parent, bytes) +
        "/output";
    if (!job.generated) return job;
  }
  const std::string directory =
      make_temporary_directory("--dir", options.directory, job.generated ? 2 * bytes : bytes);
  if (job.output.empty()) job.output = directory + "/output";
  if (job.generated) job.input = directory + "/input";
  return job;
}

// The sum of hashes of what is to be sorted.
std::uint64_t prepare(const Job& job, long seed) {
  std::vector<double> numbers;
  if (job.generated) {
    for (long i = job.block.begin; i < job.block.end; ++i) {
      numbers.push_back(random_number(seed, i));
    }
    File file = File::open(job.input, O_CREAT | O_WRONLY);
    write_numbers(file, numbers, job.block.begin);
    file.close();
  } else {
    numbers = read_numbers(File::open(job.input, O_RDONLY), job.block);
    const auto wrong = std::find_if(numbers.begin(), numbers.end(),
                                    [](double number) { return std::isnan(number); });
    const long index = job.block.begin + (wrong - numbers.begin());
    refuse_if_any(wrong == numbers.end() ? ""
                                         : "--input " + job.input + ": number " +
                                               std::to_string(index) + " is not a number (NaN)");
  }
  return total(hash(numbers));
}

// What is measured. All ranks open a file before any rank continues, as on a parallel file system.
Sorter sort_file(const Job& job, double portion, Stamps& stamps, std::vector<double>& numbers) {
  stamps.stamp(Phase::kOpen);
  File input = File::open(job.input, O_RDONLY);
  stamps.stamp(Phase::kSync);
  MPI_Barrier(MPI_COMM_WORLD);
  stamps.stamp(Phase::kRead);
  numbers = read_numbers(input, job.block);
  Sorter sorter(numbers, portion, stamps);
  sorter.run();
  stamps.stamp(Phase::kOpen);
  File output = File::open(job.output, O_CREAT | O_RDWR);
  stamps.stamp(Phase::kSync);
  MPI_Barrier(MPI_COMM_WORLD);
  stamps.stamp(Phase::kWrite);
  write_numbers(output, numbers, job.block.begin);
  output.close();
  stamps.stamp(Phase::kEnd);
  return sorter;
}

// Reads back what other ranks wrote, and the number before it.
void verify(Report& report, const Job& job, std::uint64_t expected) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int ranks = number_of_ranks();
  const Block block = block_of(job.count, ranks, (this_rank() + 1) % ranks);
  const File output = File::open(job.output, O_RDONLY);
  const std::vector<double> numbers = read_numbers(output, block);
  double before =
      block.begin > 0 ? read_numbers(output, {block.begin - 1, block.begin})[0] : numbers[0];
  std::uint64_t wrong = 0;
  for (const double number : numbers) {
    wrong += less(number, before);
    before = number;
  }
  report.check_exact("numbers out of order", static_cast<std::int64_t>(total(wrong)), 0);
  report.check_exact("sum of hashes", static_cast<std::int64_t>(total(hash(numbers))),
                     static_cast<std::int64_t>(expected));
  report.check_exact("size of the output", output.size(), job.count * kNumberBytes);
}

void rate(Report& report, const std::string& name, const Job& job, double seconds) {
  const double bytes = static_cast<double>(job.count) * sizeof(double);
  if (seconds > 0) report.figure(name, bytes / seconds * 1e-6, "MB/s");
}

// A moment between the last rank's check and the removal of the directory.
void keep_output(const Report& report, const Job& job, const std::string& output) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (output.empty() || report.verdict() != Report::Verdict::kVerified || this_rank() != 0) return;
  rename_file(job.output, output);
}

void run(Report& report, const Options& options) {
  const Job job = make_job(options);
  const std::uint64_t expected = prepare(job, options.seed);
  std::vector<double> numbers;
  Stamps stamps;
  const Sorter sorter = sort_file(job, options.portion, stamps, numbers);
  report.parameter("count", job.count);
  if (job.generated) report.parameter("seed", options.seed);
  report.parameter("portion", options.portion);
  report.time(stamps.end());
  rate(report, "read rate", job, stamps.span(Phase::kRead));
  rate(report, "write rate", job, stamps.span(Phase::kWrite));
  report.figure("rounds", static_cast<double>(sorter.rounds()), "");
  report.figure("trades", static_cast<double>(total(sorter.trades())), "");
  report.figure("numbers traded", static_cast<double>(total(2 * sorter.traded())), "");
  stamps.report(report);
  verify(report, job, expected);
  keep_output(report, job, options.output);
}

}  // namespace
}  // namespace sesame::workload::sort

int main(int argc, char** argv) {
  sesame::workload::Program program("sesame-sort", "a parallel sort of a file of random numbers");
  sesame::workload::sort::Options options;
  program.arguments().add("--count", options.count,
                          "how many numbers; 0: all of --input, or 1048576 that are made");
  program.arguments().add("--seed", options.seed, "another number makes other numbers");
  program.arguments().add("--input", options.input,
                          "a file of doubles to sort; without it one is made");
  program.arguments().add("--output", options.output,
                          "keep the sorted file by this name; must not exist");
  program.arguments().add("--portion", options.portion,
                          "the most of its numbers that a rank trades at once");
  program.arguments().add("--dir", options.directory, "where files lie while the program runs");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::sort::run(report, options);
  });
}
