#include "io/nht1/peak.h"

#include <fcntl.h>
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "kit/arguments.h"
#include "kit/files.h"
#include "kit/phases.h"

namespace sesame::workload::nht1 {
namespace {

constexpr long kWord = sizeof(std::uint64_t);

// A file of one rank, which it writes to the disk and reads back.
class Disk {
 public:
  Disk(const PeakPlan& plan, const std::string& path, int rank)
      : plan_(plan), path_(path), rank_(rank), words_(plan.record / kWord) {}

  void write() {
    File file = File::open(path_, O_CREAT | O_WRONLY);
    for (long at = 0; at < plan_.bytes; at += plan_.record) {
      // One word is enough to tell records apart, and costs nothing.
      words_.front() = tag(at);
      file.write(words_.data(), plan_.record, at);
    }
    file.sync();
    file.drop_cache();
    file.close();
  }

  void read() {
    File file = File::open(path_, O_RDONLY);
    for (long at = 0; at < plan_.bytes; at += plan_.record) {
      file.read(words_.data(), plan_.record, at);
      wrong_ += words_.front() != tag(at);
    }
    file.close();
  }

  std::int64_t wrong() const { return wrong_; }

 private:
  std::uint64_t tag(long at) const { return (std::uint64_t(rank_) << 48) + at + 1; }

  const PeakPlan& plan_;
  std::string path_;
  int rank_;
  std::vector<std::uint64_t> words_;
  std::int64_t wrong_ = 0;
};

// The time of the slowest rank; ranks that do not act wait.
template <typename Action>
double timed(bool acts, const Action& action) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  if (acts) action();
  return largest(acts ? MPI_Wtime() - began : 0);
}

void add_figures(Report& report, const std::string& who, double bytes, double write_s,
                 double read_s) {
  if (write_s <= 0 || read_s <= 0) return;
  report.figure(who + " write rate", bytes / write_s * 1e-6, "MB/s");
  report.figure(who + " read rate", bytes / read_s * 1e-6, "MB/s");
  report.figure(who + " round trip", 2 * bytes / (write_s + read_s) * 1e-6, "MB/s");
}

}  // namespace

void check(const PeakPlan& plan) {
  if (plan.record < kWord || plan.record % kWord != 0) {
    throw UsageError("--record: expected a multiple of 8 bytes");
  }
  if (plan.bytes < plan.record || plan.bytes % plan.record != 0) {
    throw UsageError("--bytes: expected a multiple of --record");
  }
}

void measure_peak(Report& report, const PeakPlan& plan, const std::string& directory) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::string path = directory + "/peak.";
  path += std::to_string(rank);
  Disk disk(plan, path, rank);
  const double bytes = static_cast<double>(plan.bytes);
  const double alone_write_s = timed(rank == 0, [&] { disk.write(); });
  const double alone_read_s = timed(rank == 0, [&] { disk.read(); });
  add_figures(report, "one rank", bytes, alone_write_s, alone_read_s);
  const double write_s = timed(true, [&] { disk.write(); });
  const double read_s = timed(true, [&] { disk.read(); });
  add_figures(report, "concurrent", bytes * ranks, write_s, read_s);
  std::int64_t own = disk.wrong(), wrong = 0;
  MPI_Allreduce(&own, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  report.check_exact("wrong records read back", wrong, 0);
}

}  // namespace sesame::workload::nht1
