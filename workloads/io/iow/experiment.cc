#include "io/iow/experiment.h"

#include <fcntl.h>
#include <mpi.h>

#include <memory>
#include <numeric>

#include "kit/files.h"
#include "kit/gather.h"
#include "kit/phases.h"

namespace sesame::workload::iow {
namespace {

constexpr std::size_t kPage = 4096;
constexpr long kWord = sizeof(std::uint64_t);

// Data that depends on file, offset and run.
std::uint64_t word(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = (seed + place) * 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  return x * 0xd6e8feb86659fd93;
}

void fill(std::uint64_t* buffer, long size, std::uint64_t seed, long offset) {
  for (long i = 0; i < size / kWord; ++i) buffer[i] = word(seed, offset / kWord + i);
}

std::int64_t count_wrong(const std::uint64_t* buffer, long size, std::uint64_t seed, long offset) {
  std::int64_t wrong = 0;
  for (long i = 0; i < size / kWord; ++i) wrong += buffer[i] != word(seed, offset / kWord + i);
  return wrong;
}

template <typename Action>
double timed(const Action& action) {
  const double began = MPI_Wtime();
  action();
  return MPI_Wtime() - began;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Experiment::Experiment(const Plan& plan, const std::string& directory)
    : plan_(plan), directory_(directory), memory_((plan.to + kPage) / kWord) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  void* begin = memory_.data();
  std::size_t space = memory_.size() * kWord;
  buffer_ = static_cast<std::uint64_t*>(std::align(kPage, plan.to, begin, space));
}

std::string Experiment::path(int rank) const {
  std::string name = directory_ + "/data";
  if (!plan_.is_shared()) name.append(".").append(std::to_string(rank));
  return name;
}

int Experiment::part_to_read() const { return (rank_ + plan_.shift) % ranks_; }

std::uint64_t Experiment::seed_of(int part) const {
  const std::uint64_t file = plan_.is_shared() ? 0 : part;
  return (salt_ << 48) + (file << 32);
}

void Experiment::run(long size, int repeat) {
  ++salt_;
  const Timing writing = write(size);
  const double cleared = plan_.clear ? clear() : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const Timing reading = read(size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double removed = remove();
  MPI_Barrier(MPI_COMM_WORLD);
  if (plan_.writes()) {
    keep(writing, size, repeat, writes_, write_records_);
    keep_files(writing, size, repeat, false, 0, 0);
  }
  if (plan_.reads()) keep(reading, size, repeat, reads_, read_records_);
  keep_files(reading, size, repeat, true, cleared, removed);
}

Experiment::Timing Experiment::write(long size) {
  Timing timing;
  std::unique_ptr<Target> target;
  timing.records.reserve(plan_.count(size));
  // One rank creates a shared file before the others open it.
  if (plan_.is_shared() && plan_.interface != "mpi" && rank_ == 0) {
    File::open(path(0), O_CREAT | O_WRONLY).close();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  timing.open = timed([&] { target = open_target(plan_, path(rank_), true); });
  MPI_Barrier(MPI_COMM_WORLD);
  for (long i = 0; i < plan_.count(size); ++i) {
    const long offset = plan_.place(size, i, rank_, ranks_);
    fill(buffer_, size, seed_of(rank_), offset);
    timing.records.push_back(timed([&] {
      target->write(buffer_, size, offset);
      if (plan_.sync == "each") target->sync();
    }));
  }
  if (plan_.sync == "end") timing.sync = timed([&] { target->sync(); });
  timing.close = timed([&] { target->close(); });
  return timing;
}

Experiment::Timing Experiment::read(long size) {
  Timing timing;
  std::unique_ptr<Target> target;
  const int part = part_to_read();
  timing.records.reserve(plan_.count(size));
  timing.open = timed([&] { target = open_target(plan_, path(part), false); });
  MPI_Barrier(MPI_COMM_WORLD);
  for (long i = 0; i < plan_.count(size); ++i) {
    const long offset = plan_.place(size, i, part, ranks_);
    timing.records.push_back(timed([&] { target->read(buffer_, size, offset); }));
    wrong_ += count_wrong(buffer_, size, seed_of(part), offset);
  }
  timing.close = timed([&] { target->close(); });
  return timing;
}

// Sync first: only clean pages can be dropped from the page cache.
double Experiment::clear() const {
  MPI_Barrier(MPI_COMM_WORLD);
  return timed([&] {
    File file = File::open(path(rank_), O_RDONLY);
    file.sync();
    file.drop_cache();
    file.close();
  });
}

double Experiment::remove() const {
  if (plan_.is_shared() && rank_ != 0) return 0;
  return timed([&] { remove_file(path(rank_)); });
}

// A run lasts as long as its slowest rank is in the calls that write or read.
void Experiment::keep(const Timing& timing, long size, int repeat, Runs& runs, Records& records) {
  const double seconds = largest(sum(timing.records) + timing.sync + timing.close);
  const double count = static_cast<double>(plan_.count(size)) * ranks_;
  const double bytes = count * static_cast<double>(size);
  runs.size.push_back(static_cast<double>(size));
  runs.rate.push_back(seconds > 0 ? bytes / seconds * 1e-6 : 0);
  runs.time.push_back(seconds);
  runs.bytes.push_back(bytes);
  runs.records.push_back(count);
  runs.repeat.push_back(repeat);
  measured_s_ += seconds;
  if (repeat != plan_.repeat - 1) return;
  for (std::size_t i = 0; i < timing.records.size(); ++i) {
    records.record.push_back(static_cast<double>(i));
    records.time.push_back(timing.records[i] * 1e6);
    records.size.push_back(static_cast<double>(size));
    records.rank.push_back(rank_);
  }
}

void Experiment::keep_files(const Timing& timing, long size, int repeat, bool reads, double clear,
                            double remove) {
  files_.size.push_back(static_cast<double>(size));
  files_.repeat.push_back(repeat);
  files_.rank.push_back(rank_);
  files_.reads.push_back(reads);
  files_.open.push_back(timing.open * 1e6);
  files_.sync.push_back(timing.sync * 1e6);
  files_.close.push_back(timing.close * 1e6);
  files_.clear.push_back(clear * 1e6);
  files_.remove.push_back(remove * 1e6);
}

void Experiment::report(Report& report) const {
  const auto add_runs = [&](const std::string& table, const Runs& runs) {
    report.column(table, "size", "byte", runs.size);
    report.column(table, "rate", "MB/s", runs.rate);
    report.column(table, "time", "s", runs.time);
    report.column(table, "bytes", "byte", runs.bytes);
    report.column(table, "records", "", runs.records);
    report.column(table, "repeat", "", runs.repeat);
  };
  const auto add_records = [&](const std::string& table, const Records& records) {
    report.column(table, "record", "", gather(records.record));
    report.column(table, "time", "us", gather(records.time));
    report.column(table, "size", "byte", gather(records.size));
    report.column(table, "rank", "", gather(records.rank));
  };
  if (plan_.writes()) add_runs("write", writes_);
  if (plan_.reads()) add_runs("read", reads_);
  if (plan_.writes()) add_records("write_record", write_records_);
  if (plan_.reads()) add_records("read_record", read_records_);
  report_files(report);
  report.time(measured_s_);
  std::int64_t wrong = 0;
  MPI_Allreduce(&wrong_, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  report.check_exact("wrong words read back", wrong, 0);
}

void Experiment::report_files(Report& report) const {
  std::vector<std::string> modes;
  for (const double reads : gather(files_.reads)) modes.push_back(reads != 0 ? "read" : "write");
  report.column("file", "mode", "", modes);
  report.column("file", "size", "byte", gather(files_.size));
  report.column("file", "repeat", "", gather(files_.repeat));
  report.column("file", "rank", "", gather(files_.rank));
  report.column("file", "open", "us", gather(files_.open));
  report.column("file", "sync", "us", gather(files_.sync));
  report.column("file", "close", "us", gather(files_.close));
  report.column("file", "clear", "us", gather(files_.clear));
  report.column("file", "remove", "us", gather(files_.remove));
}

}  // namespace sesame::workload::iow
