#include "io/sparse/measurement.h"

#include <fcntl.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "io/sparse/allocation.h"
#include "io/sparse/itpack.h"
#include "kit/files.h"

namespace sesame::workload::sparse {
namespace {

struct Column {
  const char* name;
  const char* unit;
  Count count;
};

constexpr Column kColumns[] = {
    {"reads", "", kReads},        {"rows", "", kRows},          {"nonzeros", "", kNonzeros},
    {"seek", "s", kSeek},         {"read", "s", kRead},         {"compress", "s", kCompress},
    {"multiply", "s", kMultiply}, {"messages", "s", kMessages}, {"total", "s", kTotal}};

// Compresses and multiplies what a rank reads.
class Worker {
 public:
  // `product_time` is added for each nonzero and vector.
  Worker(const ExtendedFile& file, const Vectors& vectors, double product_time, Counts& counts)
      : file_(file),
        vectors_(vectors),
        product_time_(product_time),
        counts_(counts),
        line_(file.order) {}

  void compute(std::span<const char> bytes) {
    const double began = MPI_Wtime();
    const long first = matrix_.rows();
    const long nonzeros = matrix_.nonzeros();
    const long row_bytes = file_.row_bytes();
    for (std::size_t at = 0; at < bytes.size(); at += row_bytes) compress(bytes.data() + at);
    const double compressed = MPI_Wtime();
    products_.resize(matrix_.rows() * vectors_.count());
    matrix_.multiply(first, vectors_.data(), vectors_.count(),
                     products_.data() + first * vectors_.count());
    add_time(matrix_.nonzeros() - nonzeros);
    counts_[kCompress] += compressed - began;
    counts_[kMultiply] += MPI_Wtime() - compressed;
  }

  // At the places of this rank's rows: the weighted sums of the products, and ones.
  void combine(std::vector<double>& combined, std::vector<double>& times) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      combined[numbers_[i]] += vectors_.combined(products_.data() + i * vectors_.count());
      times[numbers_[i]] += 1;
    }
  }

  const Itpack& matrix() const { return matrix_; }

 private:
  void add_time(long nonzeros) const {
    if (product_time_ <= 0) return;
    const auto products = static_cast<double>(nonzeros * vectors_.count());
    std::this_thread::sleep_for(std::chrono::duration<double>(products * product_time_));
  }

  void compress(const char* row) {
    std::int64_t number = 0;
    std::memcpy(&number, row, sizeof number);
    if (number < 0 || number >= file_.order) {
      throw FileError(file_.path + ": damaged: a row with the number " + std::to_string(number) +
                      " in a matrix of order " + std::to_string(file_.order));
    }
    numbers_.push_back(number);
    std::memcpy(line_.data(), row + sizeof number, line_.size() * sizeof(double));
    matrix_.append(line_.data(), file_.order);
  }

  const ExtendedFile& file_;
  const Vectors& vectors_;
  double product_time_;
  Counts& counts_;
  Itpack matrix_;
  std::vector<double> line_, products_;
  std::vector<std::int64_t> numbers_;
};

void forget(const ExtendedFile& file) {
  const File open = File::open(file.path, O_RDONLY);
  open.sync();
  open.drop_cache();
  MPI_Barrier(MPI_COMM_WORLD);
}

std::vector<Counts> gather(const Counts& mine) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Counts> all(rank == 0 ? ranks : 0);
  MPI_Gather(mine.data(), kCounts, MPI_DOUBLE, rank == 0 ? all[0].data() : nullptr, kCounts,
             MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

double computing(const Counts& counts) { return counts[kCompress] + counts[kMultiply]; }

}  // namespace

double Measurement::longest(Count count) const {
  double result = 0;
  for (const Counts& rank : ranks) result = std::max(result, rank[count]);
  return result;
}

double Measurement::total(Count count) const {
  double result = 0;
  for (const Counts& rank : ranks) result += rank[count];
  return result;
}

double Measurement::mean(Count count) const {
  double sum = 0;
  for (std::size_t i = ranks.size() - workers; i < ranks.size(); ++i) sum += ranks[i][count];
  return sum / static_cast<double>(workers);
}

double Measurement::imbalance() const {
  double most = 0;
  for (const Counts& rank : ranks) most = std::max(most, computing(rank));
  const double average = mean(kCompress) + mean(kMultiply);
  return average > 0 ? most / average : 1;
}

double Measurement::estimate() const {
  double result = 0;
  for (const Counts& rank : ranks) {
    result = std::max(result, rank[kSeek] + std::max(computing(rank), rank[kRead]));
  }
  return result;
}

Measurement measure(const Plan& plan, const ExtendedFile& file, const Vectors& vectors,
                    const RowSource& source) {
  const RowChunks chunks{file.order, plan.rows_each};
  const std::unique_ptr<Access> access = open_access(plan.interface, plan.mode, file, chunks);
  if (plan.cold) forget(file);
  Counts counts{};
  Worker worker(file, vectors, plan.product_time, counts);
  const Compute compute = [&](std::span<const char> rows) { worker.compute(rows); };
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (plan.dynamic) {
    counts[kMessages] = allocate_dynamically(*access, chunks, compute);
  } else {
    allocate_statically(*access, plan.mode, chunks, compute);
  }
  counts[kTotal] = MPI_Wtime() - began;
  counts[kSeek] = access->seek_s();
  counts[kRead] = access->read_s();
  counts[kReads] = static_cast<double>(access->reads());
  counts[kRows] = static_cast<double>(worker.matrix().rows());
  counts[kNonzeros] = static_cast<double>(worker.matrix().nonzeros());
  Measurement result;
  result.ranks = gather(counts);
  result.workers = result.ranks.size() - (plan.dynamic && !result.ranks.empty() ? 1 : 0);
  const double bytes = worker.matrix().bytes();
  MPI_Reduce(&bytes, &result.compressed_bytes, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  std::vector<double> combined(file.order), times(file.order);
  worker.combine(combined, times);
  result.rows_right = rows_that_are_right(vectors, combined, times, source);
  return result;
}

void report_ranks(Report& report, const Measurement& measurement) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < measurement.ranks.size(); ++rank) {
    names.push_back(std::to_string(rank));
  }
  report.column("ranks", "rank", "", names);
  for (const Column& column : kColumns) {
    std::vector<double> values;
    for (const Counts& counts : measurement.ranks) values.push_back(counts[column.count]);
    report.column("ranks", column.name, column.unit, values);
  }
  std::vector<std::string> phases;
  std::vector<double> longest, mean;
  for (const Column& column : kColumns) {
    if (column.unit[0] != 's') continue;
    phases.push_back(column.name);
    longest.push_back(measurement.longest(column.count));
    mean.push_back(measurement.mean(column.count));
  }
  report.column("phases", "phase", "", phases);
  report.column("phases", "longest", "s", longest);
  report.column("phases", "mean", "s", mean);
}

}  // namespace sesame::workload::sparse
