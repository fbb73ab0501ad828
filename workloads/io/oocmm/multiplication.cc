#include "io/oocmm/multiplication.h"

#include <mpi.h>

#include <vector>

#include "io/scramble.h"
#include "io/shared_file.h"
#include "kit/ranks.h"

namespace sesame::workload::oocmm {
namespace {

constexpr long kNumber = sizeof(double);

double element(long row, long column, std::uint64_t matrix) {
  const auto key = scramble(static_cast<std::uint64_t>(row) * 2 + matrix);
  return static_cast<double>(scramble(key + static_cast<std::uint64_t>(column)) % 9) - 4;
}

long rounded_up(long count, long by) { return (count + by - 1) / by; }

// How the second matrix comes into memory: a panel of columns, each row of it together.
class SecondMatrix {
 public:
  SecondMatrix(const Plan& plan, const Files& files)
      : plan_(plan),
        rank_(this_rank()),
        ranks_(number_of_ranks()),
        panel_(plan.columns * plan.order) {
    if (!by_mpi_io()) {
      file_ = open_shared(plan.interface, files.second(), MPI_COMM_WORLD);
      return;
    }
    path_ = files.second();
    check_mpi_io(
        MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &handle_),
        path_, "open");
  }
  ~SecondMatrix() { close_mpi_file(handle_); }
  SecondMatrix(const SecondMatrix&) = delete;
  SecondMatrix& operator=(const SecondMatrix&) = delete;

  const double* read(long panel) {
    const long begin = panel * plan_.columns;
    const Block columns{begin, std::min(plan_.order, begin + plan_.columns)};
    if (by_mpi_io()) {
      read_together(columns);
    } else if (!plan_.collective) {
      read_alone(columns);
    } else {
      const int reader = static_cast<int>(panel % ranks_);
      if (rank_ == reader) read_alone(columns);
      MPI_Bcast(panel_.data(), static_cast<int>(columns.size() * plan_.order), MPI_DOUBLE, reader,
                MPI_COMM_WORLD);
    }
    return panel_.data();
  }

  const Requests& requests() const { return requests_; }
  // Number (row, column of the panel) of a panel with `width` columns.
  long index(long row, long column, long width) const {
    return plan_.column_major ? column * plan_.order + row : row * width + column;
  }

 private:
  bool by_mpi_io() const { return plan_.collective && plan_.interface == "mpi"; }

  void read_range(double* to, long count, long number) {
    requests_.add(count * kNumber);
    file_->read(to, count * kNumber, number * kNumber);
  }

  void read_alone(Block columns) {
    const long n = plan_.order;
    if (plan_.column_major) return read_range(panel_.data(), columns.size() * n, columns.begin * n);
    for (long row = 0; row < n; ++row) {
      read_range(&panel_[row * columns.size()], columns.size(), row * n + columns.begin);
    }
  }

  // One call for the whole panel, by all ranks; the library may bring it in as it likes.
  void read_together(Block columns) {
    const int n = static_cast<int>(plan_.order);
    const int width = static_cast<int>(columns.size());
    MPI_Datatype type;
    if (plan_.column_major) {
      MPI_Type_contiguous(width * n, MPI_DOUBLE, &type);
    } else {
      MPI_Type_vector(n, width, n, MPI_DOUBLE, &type);
    }
    MPI_Type_commit(&type);
    const MPI_Offset at = columns.begin * kNumber * (plan_.column_major ? n : 1);
    int error = MPI_File_set_view(handle_, at, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    if (error == MPI_SUCCESS) {
      error = MPI_File_read_all(handle_, panel_.data(), width * n, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&type);
    check_mpi_io(error, path_, "read");
    requests_.add(static_cast<long>(width) * n * kNumber);
  }

  const Plan& plan_;
  int rank_, ranks_;
  std::vector<double> panel_;
  std::unique_ptr<SharedFile> file_;
  std::string path_;
  MPI_File handle_ = MPI_FILE_NULL;
  Requests requests_;
};

// Product of some rows and a panel of columns, into `result`, rows of `plan.order` numbers.
void multiply_panels(const Plan& plan, const std::vector<double>& rows, long row_count,
                     const SecondMatrix& second, const double* panel, Block columns,
                     std::vector<double>& result) {
  for (long i = 0; i < row_count; ++i) {
    const double* row = &rows[i * plan.order];
    for (long j = 0; j < columns.size(); ++j) {
      double sum = 0;
      for (long k = 0; k < plan.order; ++k) {
        sum += row[k] * panel[second.index(k, j, columns.size())];
      }
      result[i * plan.order + columns.begin + j] = sum;
    }
  }
}

void write_factor(const Plan& plan, const std::string& path, double (*element)(long, long),
                  bool transposed) {
  const auto file = open_shared("posix", path, MPI_COMM_WORLD);
  const Block lines = block_of(plan.order, number_of_ranks(), this_rank());
  std::vector<double> line(plan.order);
  for (long i = lines.begin; i < lines.end; ++i) {
    for (long j = 0; j < plan.order; ++j) line[j] = transposed ? element(j, i) : element(i, j);
    file->write(line.data(), plan.order * kNumber, i * plan.order * kNumber);
  }
}

}  // namespace

double first_element(long row, long column) { return element(row, column, 0); }
double second_element(long row, long column) { return element(row, column, 1); }

void write_factors(const Plan& plan, const Files& files) {
  write_factor(plan, files.first(), first_element, false);
  write_factor(plan, files.second(), second_element, plan.column_major);
  MPI_Barrier(MPI_COMM_WORLD);
}

Work multiply(const Plan& plan, const Files& files, Phases& phases) {
  const int read_first = phases.add("read first"), read_second = phases.add("read second");
  const int compute = phases.add("compute"), write = phases.add("write product");
  const long n = plan.order;
  const int rank = this_rank(), ranks = number_of_ranks();
  const Block mine = block_of(n, ranks, rank);
  const auto first = open_shared(plan.interface, files.first(), MPI_COMM_WORLD);
  const auto product = open_shared(plan.interface, files.product(), MPI_COMM_WORLD);
  SecondMatrix second(plan, files);
  std::vector<double> rows(plan.rows * n), result(plan.rows * n);
  const long panels = rounded_up(n, plan.columns);
  const long start = plan.staggered ? rank * panels / ranks : 0;
  // Collective reads: all ranks continue until the rank with most rows is done.
  const long most = plan.collective ? block_of(n, ranks, 0).size() : mine.size();
  Work work;
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (long done = 0; done < most; done += plan.rows) {
    const long begin = mine.begin + done;
    const long count = std::clamp(mine.end - begin, 0L, plan.rows);
    const long bytes = count * n * kNumber;
    if (count > 0) {
      Phases::Scope scope(phases, read_first);
      first->read(rows.data(), bytes, begin * n * kNumber);
      work.first.add(bytes);
    }
    for (long i = 0; i < panels; ++i) {
      const long panel = (start + i) % panels;
      phases.start(read_second);
      const double* numbers = second.read(panel);
      phases.stop(read_second);
      const Block columns{panel * plan.columns, std::min(n, (panel + 1) * plan.columns)};
      Phases::Scope scope(phases, compute);
      multiply_panels(plan, rows, count, second, numbers, columns, result);
    }
    if (count > 0) {
      Phases::Scope scope(phases, write);
      product->write(result.data(), bytes, begin * n * kNumber);
      work.product.add(bytes);
    }
  }
  work.time_s = largest(MPI_Wtime() - began);
  work.second = second.requests();
  return work;
}

Expected expected_requests(const Plan& plan, int ranks) {
  long steps = 0, longest = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const long mine = rounded_up(block_of(plan.order, ranks, rank).size(), plan.rows);
    steps += mine;
    longest = std::max(longest, mine);
  }
  const long panels = rounded_up(plan.order, plan.columns);
  const bool one_call = plan.column_major || (plan.collective && plan.interface == "mpi");
  const long for_a_panel = one_call ? 1 : plan.order;
  // Ranks that read together: by POSIX one reads for all, MPI-IO is called by all.
  long times = steps;
  if (plan.collective) times = plan.interface == "mpi" ? longest * ranks : longest;
  return {steps, times * panels * for_a_panel, steps};
}

}  // namespace sesame::workload::oocmm
