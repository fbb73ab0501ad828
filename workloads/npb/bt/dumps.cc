#include "npb/bt/dumps.h"

#include <fcntl.h>

#include <cmath>
#include <cstdio>

#include "kit/agree.h"
#include "kit/arguments.h"
#include "kit/phases.h"
#include "kit/ranks.h"

namespace sesame::workload::cfd {
namespace {

constexpr double kReadTolerance = 1e-12;  // sums of the same numbers in another order
constexpr MPI_Offset kCellBytes = kStates * sizeof(double);

MPI_Datatype make_cell() {
  MPI_Datatype type;
  MPI_Type_contiguous(kStates, MPI_DOUBLE, &type);
  return type;
}

MPI_Datatype make_box(const Index& whole, const Index& size, const Index& begin,
                      MPI_Datatype cell) {
  MPI_Datatype type;
  MPI_Type_create_subarray(3, whole.data(), size.data(), begin.data(), MPI_ORDER_FORTRAN, cell,
                           &type);
  return type;
}

// One type for a box of every subdomain, each `displacement` bytes away.
MPI_Datatype join(std::vector<MPI_Datatype> boxes, const std::vector<MPI_Aint>& displacements) {
  const std::vector<int> once(boxes.size(), 1);
  MPI_Datatype type;
  MPI_Type_create_struct(static_cast<int>(boxes.size()), once.data(), displacements.data(),
                         boxes.data(), &type);
  for (MPI_Datatype& box : boxes) MPI_Type_free(&box);
  return type;
}

// The points of all subdomains as they lie in memory, from MPI_BOTTOM.
MPI_Datatype subdomains_in_memory(const Domain& domain, MPI_Datatype cell) {
  std::vector<MPI_Datatype> boxes;
  std::vector<MPI_Aint> displacements;
  for (const Subdomain& subdomain : domain.subdomains) {
    Index whole = subdomain.size;
    for (int& size : whole) size += 2 * Subdomain::kGhosts;
    const Index begin = {Subdomain::kGhosts, Subdomain::kGhosts, Subdomain::kGhosts};
    boxes.push_back(make_box(whole, subdomain.size, begin, cell));
    MPI_Aint address;
    MPI_Get_address(subdomain.state.data(), &address);
    displacements.push_back(address);
  }
  return join(boxes, displacements);
}

// The same points as they lie in a dump. Subdomains are in the order of zeta, as a view wants them.
MPI_Datatype subdomains_in_file(const Domain& domain, MPI_Datatype cell) {
  std::vector<MPI_Datatype> boxes;
  const Index whole = {domain.grid, domain.grid, domain.grid};
  for (const Subdomain& subdomain : domain.subdomains) {
    boxes.push_back(make_box(whole, subdomain.size, subdomain.begin, cell));
  }
  return join(boxes, std::vector<MPI_Aint>(boxes.size(), 0));
}

long points_of(const Domain& domain) {
  long total = 0;
  for (const Subdomain& subdomain : domain.subdomains) {
    total += long{subdomain.size[0]} * subdomain.size[1] * subdomain.size[2];
  }
  return total;
}

// The text of an MPI error; empty for MPI_SUCCESS. The text of the error class is shorter and
// clearer, unless the class is the general MPI_ERR_IO.
std::string text_of(int error) {
  if (error == MPI_SUCCESS) return "";
  char text[MPI_MAX_ERROR_STRING];
  int error_class = 0, length = 0;
  MPI_Error_class(error, &error_class);
  MPI_Error_string(error_class == MPI_ERR_IO ? error : error_class, text, &length);
  return std::string(text, length);
}

// Adds the squares of the differences to the exact solution of `count` points along xi.
void add_errors(const double* u, const Index& begin, int count, int grid, State& sums) {
  const auto place = [grid](int at) { return at / double(grid - 1); };
  const auto inside = [grid](int at) { return at > 0 && at < grid - 1; };
  if (!inside(begin[1]) || !inside(begin[2])) return;
  for (int i = 0; i < count; ++i) {
    if (!inside(begin[0] + i)) continue;
    const State exact = exact_solution(place(begin[0] + i), place(begin[1]), place(begin[2]));
    for (int m = 0; m < kStates; ++m) {
      const double error = u[kStates * i + m] - exact[m];
      sums[m] += error * error;
    }
  }
}

bool agrees(const State& read, const State& written) {
  for (int m = 0; m < kStates; ++m) {
    if (!(std::abs(read[m] - written[m]) <= kReadTolerance * written[m])) return false;
  }
  return true;
}

// The error of a POSIX action, or empty.
template <typename Action>
std::string attempt(const Action& action) {
  try {
    action();
    return "";
  } catch (const FileError& error) {
    return error.what();
  }
}

}  // namespace

Dumps::Dumps(const std::string& mode, const std::string& file, bool keep, const Domain& domain)
    : mode_(mode),
      file_(file),
      keep_(keep),
      domain_(domain),
      cell_(make_cell()),
      in_memory_(subdomains_in_memory(domain, cell_.get())),
      in_file_(subdomains_in_file(domain, cell_.get())),
      cells_(points_of(domain)) {
  check_mode(mode);
  const double began = MPI_Wtime();
  open(true);
  write_s_ += MPI_Wtime() - began;
}

void Dumps::check_mode(const std::string& mode) {
  if (mode != "posix" && mode != "simple" && mode != "full" && mode != "epio") {
    throw UsageError("--io " + mode + ": expected posix, simple, full or epio");
  }
}

Dumps::~Dumps() {
  close();
  if (!(keep_ && complete_)) remove();
}

std::string Dumps::name() const {
  return one_each() ? file_ + "." + std::to_string(this_rank()) : file_;
}

void Dumps::open(bool writing) {
  try {
    if (mode_ == "posix") {
      open_posix(writing);
    } else {
      open_mpi(writing);
    }
  } catch (const UsageError&) {
    // The destructor does not run when the constructor throws.
    close();
    remove();
    throw;
  }
}

void Dumps::open_mpi(bool writing) {
  const int access = writing ? MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  int error = MPI_File_open(one_each() ? MPI_COMM_SELF : MPI_COMM_WORLD, name().c_str(), access,
                            MPI_INFO_NULL, &handle_);
  if (error == MPI_SUCCESS) {
    created_ |= writing && (one_each() || this_rank() == 0);
    const bool scattered = writing && mode_ == "full";
    error = MPI_File_set_view(handle_, 0, cell_.get(), scattered ? in_file_.get() : cell_.get(),
                              "native", MPI_INFO_NULL);
  } else {
    handle_ = MPI_FILE_NULL;
  }
  const std::string action = writing ? "create" : "open";
  const std::string text = text_of(error);
  refuse_if_any(text.empty() ? "" : "--io-file " + name() + ": cannot " + action + ": " + text);
}

// Rank 0 creates the file and detects whether it already exists.
void Dumps::open_posix(bool writing) {
  const auto refuse = [](const std::string& text) {
    refuse_if_any(text.empty() ? "" : "--io-file " + text);
  };
  if (writing) {
    refuse(attempt([this] {
      if (this_rank() != 0) return;
      posix_ = File::open(name(), O_CREAT | O_EXCL | O_WRONLY);
      created_ = true;
    }));
  }
  refuse(attempt([&] { posix_ = File::open(name(), writing ? O_WRONLY : O_RDONLY); }));
}

void Dumps::close() {
  if (handle_ != MPI_FILE_NULL) MPI_File_close(&handle_);
  posix_ = File();
}

void Dumps::remove() {
  if (created_) std::remove(name().c_str());
  created_ = false;
}

void Dumps::agree(const std::string& text, const std::string& action, long dump) const {
  const std::string what = "cannot " + action + " dump " + std::to_string(dump + 1);
  fail_if_any(text.empty() ? "" : name() + ": " + what + ": " + text);
}

void Dumps::write() {
  const long dump = static_cast<long>(errors_.size());
  const double began = MPI_Wtime();
  const std::string text = write_state(dump);
  const double written = MPI_Wtime();
  agree(text, "write", dump);
  errors_.push_back(error_norms(domain_));
  write_s_ += written - began;
  other_s_ += MPI_Wtime() - written;
}

std::string Dumps::write_state(long dump) {
  if (mode_ == "simple" || mode_ == "posix") return write_rows(dump);
  const MPI_Offset at = dump * cells_;
  const auto write = one_each() ? MPI_File_write_at : MPI_File_write_at_all;
  return text_of(write(handle_, at, MPI_BOTTOM, 1, in_memory_.get(), MPI_STATUS_IGNORE));
}

std::string Dumps::write_rows(long dump) {
  const long n = domain_.grid;
  for (const Subdomain& subdomain : domain_.subdomains) {
    for (int k = 0; k < subdomain.size[2]; ++k) {
      for (int j = 0; j < subdomain.size[1]; ++j) {
        const MPI_Offset at =
            ((dump * n + subdomain.begin[2] + k) * n + subdomain.begin[1] + j) * n +
            subdomain.begin[0];
        const double* row = &subdomain.state[kStates * subdomain.state_at.at(0, j, k)];
        const std::string text = write_row(row, subdomain.size[0], at);
        if (!text.empty()) return text;
      }
    }
  }
  return "";
}

std::string Dumps::write_row(const double* row, int cells, MPI_Offset at) {
  if (mode_ == "posix") {
    return attempt([&] { posix_.write(row, cells * kCellBytes, at * kCellBytes); });
  }
  return text_of(MPI_File_write_at(handle_, at, row, cells, cell_.get(), MPI_STATUS_IGNORE));
}

// Reads `cells`; a shorter file is an error. Returns the error, or empty.
std::string Dumps::read(MPI_Offset at, std::vector<double>& cells) {
  const int wanted = static_cast<int>(cells.size() / kStates);
  if (mode_ == "posix") {
    return attempt([&] { posix_.read(cells.data(), wanted * kCellBytes, at * kCellBytes); });
  }
  MPI_Status status;
  const int error = MPI_File_read_at(handle_, at, cells.data(), wanted, cell_.get(), &status);
  if (error != MPI_SUCCESS) return text_of(error);
  int got = 0;
  MPI_Get_count(&status, cell_.get(), &got);
  return got == wanted ? "" : "the file is too short";
}

void Dumps::finish() {
  const double began = MPI_Wtime();
  close();
  write_s_ += MPI_Wtime() - began;
}

void Dumps::verify(Report& report) {
  open(false);
  const long dumps = static_cast<long>(errors_.size());
  const double points = std::pow(domain_.grid, 3);
  const double bytes = static_cast<double>(kCellBytes) * points * static_cast<double>(dumps);
  const double seconds = largest(write_s_);
  report.parameter("io", mode_);
  report.figure("bytes written", bytes, "byte");
  report.figure("I/O time", seconds, "s");
  if (seconds > 0) report.figure("write bandwidth", bytes / seconds * 1e-6, "MB/s");
  long right = 0;
  for (long dump = 0; dump < dumps; ++dump) right += agrees(read_errors(dump), errors_[dump]);
  report.check_exact("dumps read back right", right, dumps);
  complete_ = true;
}

// The error norms of a dump as the file has it.
State Dumps::read_errors(long dump) {
  State sums{}, total;
  agree(one_each() ? read_subdomains(dump, sums) : read_planes(dump, sums), "read", dump);
  MPI_Allreduce(sums.data(), total.data(), kStates, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (double& value : total) value = std::sqrt(value / std::pow(domain_.grid - 2, 3));
  return total;
}

// Whole planes of zeta, in turn over the ranks: not the subdomains that the ranks wrote, so that
// misplaced points are detected.
std::string Dumps::read_planes(long dump, State& sums) {
  const int n = domain_.grid;
  std::vector<double> plane(long{kStates} * n * n);
  for (int k = this_rank(); k < n; k += number_of_ranks()) {
    const std::string text = read((dump * n + k) * n * n, plane);
    if (!text.empty()) return text;
    for (int j = 0; j < n; ++j) {
      add_errors(&plane[long{kStates} * n * j], {0, j, k}, n, n, sums);
    }
  }
  return "";
}

// What this rank wrote in its own file.
std::string Dumps::read_subdomains(long dump, State& sums) {
  std::vector<double> points(kStates * cells_);
  const std::string text = read(dump * cells_, points);
  const double* row = points.data();
  for (const Subdomain& subdomain : domain_.subdomains) {
    for (int k = 0; k < subdomain.size[2]; ++k) {
      for (int j = 0; j < subdomain.size[1]; ++j, row += kStates * subdomain.size[0]) {
        const Index begin = {subdomain.begin[0], subdomain.begin[1] + j, subdomain.begin[2] + k};
        add_errors(row, begin, subdomain.size[0], domain_.grid, sums);
      }
    }
  }
  return text;
}

}  // namespace sesame::workload::cfd
