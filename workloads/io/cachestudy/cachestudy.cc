// How fast files are read and written by their size, by the size of transfers and by the number of
// ranks, and what of that is the work of caches. After T. El-Ghazawi: Characteristics of the MasPar
// Parallel I/O System, Frontiers '95.
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "io/cachestudy/memory.h"
#include "io/cachestudy/posix_store.h"
#include "io/cachestudy/simulated_store.h"
#include "io/cachestudy/study.h"
#include "kit/byte_sizes.h"
#include "kit/files.h"
#include "kit/mpi_library.h"
#include "kit/program.h"

namespace sesame::workload {
namespace {

constexpr double kTolerance = 0.10;  // of a verdict on a store that is known
constexpr double kMega = 1e6;
constexpr char kSelfCheck[] = "simulated:64MiB,48MiB,8";

struct Options {
  std::string store = "files", directory = ".";
  long smallest = 1 << 20, largest = 256 << 20, transfer = 64 << 10;
  Filter filter;
  double precision = 1.05;
  bool self_check = false, direct = false, drop_caches = false, larger_than_memory = false;
};

void add_options(Arguments& arguments, Options& options) {
  arguments.add("--dir", options.directory, "where the files lie while the program runs");
  arguments.add_size("--smallest", options.smallest, "smallest file");
  arguments.add_size("--largest", options.largest, "largest file");
  arguments.add_size("--transfer", options.transfer, "of a read or write");
  arguments.add("--averaged", options.filter.averaged, "passes of which the mean is taken");
  arguments.add("--groups", options.filter.groups, "means of which the median is taken");
  arguments.add("--precision", options.precision, "ratio of sizes between which an edge is found");
  arguments.add("--direct", options.direct, "past the page cache (O_DIRECT)");
  arguments.add("--drop-caches", options.drop_caches,
                "empty the machine's caches before each pass; needs root");
  arguments.add("--larger-than-memory", options.larger_than_memory,
                "largest file twice the memory that there is or the control group permits");
  arguments.add("--store", options.store, "files, or simulated:READ,WRITE,AHEAD: known caches");
  arguments.add("--self-check", options.self_check, std::string("--store ") + kSelfCheck);
}

bool is_simulated(const Options& options) { return options.store.starts_with("simulated:"); }

// simulated:READ[,WRITE[,AHEAD]]
SimulatedSizes parse_simulated(const std::string& text) {
  std::istringstream parts(text.substr(text.find(':') + 1));
  std::string read, write, ahead;
  std::getline(parts, read, ',');
  std::getline(parts, write, ',');
  std::getline(parts, ahead);
  SimulatedSizes sizes;
  sizes.read_cache = parse_bytes("--store", read);
  sizes.write_cache = write.empty() ? sizes.read_cache : parse_bytes("--store", write);
  if (ahead.find_first_not_of("0123456789") != ahead.npos || ahead.size() > 4) {
    throw UsageError("--store " + text + ": expected a number of blocks to read ahead");
  }
  sizes.read_ahead = ahead.empty() ? 0 : std::stoi(ahead);
  return sizes;
}

Plan plan_of(const Options& options, const Memory& memory) {
  Plan plan{options.smallest, options.largest, options.transfer, options.precision};
  if (options.larger_than_memory) plan.largest = 2 * memory.bytes / kStampBytes * kStampBytes;
  for (long bytes : {plan.smallest, plan.largest, plan.transfer}) {
    if (bytes > 0 && bytes % kStampBytes == 0) continue;
    throw UsageError("sizes must be multiples of " + format_bytes(kStampBytes) + ", got " +
                     format_bytes(bytes));
  }
  if (plan.smallest < plan.transfer || plan.largest / 8 < plan.smallest) {
    throw UsageError("--smallest " + format_bytes(plan.smallest) +
                     ": expected at least --transfer and at most an eighth of --largest " +
                     format_bytes(plan.largest));
  }
  if (options.filter.averaged < 1 || options.filter.groups < 1 || plan.precision < 1.001) {
    throw UsageError("--averaged and --groups take numbers above 0, --precision above 1.001");
  }
  return plan;
}

void refuse_in_simulator() {
  if (in_simulator()) {
    throw UsageError(
        "cachestudy looks for the caches of this machine, which the simulator does not use: run it "
        "under mpiexec, or with --self-check, which brings a store and a clock of its own");
  }
}

class Study {
 public:
  Study(Sampler& sampler, const Plan& plan, Report& report)
      : sampler_(sampler), plan_(plan), report_(report) {}

  void run() {
    for (Mode mode : {Mode::kRead, Mode::kWrite, Mode::kUpdate}) sweep(mode);
    choose_files();
    transfers();
    prefetch();
    write_behind();
  }

  const Edge& edge(Mode mode) const { return edges_[static_cast<int>(mode)]; }
  bool reads_ahead() const { return reads_ahead_; }
  long fitting_file() const { return small_; }

 private:
  void sweep(Mode mode) {
    const std::vector<Point> points = sweep_files(sampler_, mode, plan_);
    const Edge edge = edges_[static_cast<int>(mode)] = steepest(points);
    if (edge.found()) report_.figure("steepest fall, " + name_of(mode), edge.bytes(), "B");
    std::vector<double> sizes, medians, least, most;
    for (const Point& point : points) {
      sizes.push_back(static_cast<double>(point.bytes));
      medians.push_back(point.rate.median / kMega);
      least.push_back(point.rate.least / kMega);
      most.push_back(point.rate.most / kMega);
    }
    const std::string table = name_of(mode) + " by file size";
    report_.column(table, "file size", "B", sizes);
    report_.column(table, "rate", "MB/s", medians);
    report_.column(table, "least", "MB/s", least);
    report_.column(table, "most", "MB/s", most);
  }

  // A file that fits into all caches that were found, or is a good deal smaller than the largest.
  void choose_files() {
    double bytes = static_cast<double>(plan_.largest) / 4;
    for (const Edge& edge : edges_) {
      if (edge.found()) bytes = std::min(bytes, edge.bytes() / 2);
    }
    small_ = std::max(plan_.smallest, static_cast<long>(bytes) / kStampBytes * kStampBytes);
  }

  void transfers() {
    std::vector<double> sizes;
    for (long bytes : {small_, plan_.largest}) {
      for (Mode mode : {Mode::kRead, Mode::kWrite}) {
        sampler_.make_file(bytes);
        std::vector<double> rates;
        sizes.clear();
        for (const Point& point : sweep_transfers(sampler_, mode, plan_)) {
          sizes.push_back(static_cast<double>(point.bytes));
          rates.push_back(point.rate.median / kMega);
        }
        if (bytes == small_ && mode == Mode::kRead) {
          report_.column("by transfer size", "transfer", "B", sizes);
        }
        report_.column("by transfer size", name_of(mode) + " " + format_bytes(bytes), "MB/s",
                       rates);
      }
    }
  }

  void prefetch() {
    std::vector<std::string> names;
    std::vector<double> rates, cached;
    double memory_s = 0;
    for (long bytes : {small_, plan_.largest}) {
      sampler_.make_file(bytes);
      const Prefetch found = study_prefetch(sampler_, plan_.transfer, memory_s);
      memory_s = found.memory_s;
      reads_ahead_ = found.reads_ahead();  // that of the largest file counts
      for (const ReadPass& pass : found.passes) {
        names.push_back(pass.name);
        rates.push_back(pass.rate / kMega);
        cached.push_back(pass.found_cached);
      }
    }
    report_.column("prefetch", "pass", "", names);
    report_.column("prefetch", "rate", "MB/s", rates);
    report_.column("prefetch", "as fast as from memory", "1", cached);
  }

  void write_behind() {
    std::vector<std::string> names;
    std::vector<double> returned, on_device;
    for (long bytes : {small_, plan_.largest}) {
      sampler_.make_file(bytes);
      const WriteBehind found = study_write_behind(sampler_, plan_.transfer);
      names.push_back(format_bytes(bytes));
      returned.push_back(found.returned);
      on_device.push_back(found.on_device);
    }
    report_.column("write-behind", "file", "", names);
    report_.column("write-behind", "writes returned", "s", returned);
    report_.column("write-behind", "on the device", "s", on_device);
  }

  Sampler& sampler_;
  Plan plan_;
  Report& report_;
  Edge edges_[3];
  long small_ = 0;
  bool reads_ahead_ = false;
};

// Rates of reading by the number of ranks that take part. Returns words misread by this rank.
long scale(Store& store, const Plan& plan, long small, Filter filter, bool warm, Report& report) {
  int rank = 0, all = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  std::vector<double> ranks, rates[2];
  long misread = 0;
  for (int some = 1; some <= all; some = some < all ? std::min(2 * some, all) : all + 1) {
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank < some ? 0 : MPI_UNDEFINED, rank, &part);
    ranks.push_back(some);
    if (part == MPI_COMM_NULL) continue;
    Sampler sampler(store, part, filter, warm);
    for (int i = 0; i < 2; ++i) {
      sampler.make_file(i == 0 ? small : plan.largest);
      rates[i].push_back(sampler.measure(Mode::kRead, plan.transfer).median / kMega);
    }
    misread += sampler.misread();
    MPI_Comm_free(&part);
  }
  report.column("read by ranks", "ranks", "", ranks);
  report.column("read by ranks", format_bytes(small), "MB/s", rates[0]);
  report.column("read by ranks", format_bytes(plan.largest), "MB/s", rates[1]);
  return misread;
}

void report_parameters(const Options& options, const Plan& plan, const Memory& memory,
                       Report& report) {
  report.parameter("smallest", plan.smallest);
  report.parameter("largest", plan.largest);
  report.parameter("transfer", plan.transfer);
  report.parameter("averaged", long{options.filter.averaged});
  report.parameter("groups", long{options.filter.groups});
  report.parameter("caches", std::string(options.drop_caches ? "emptied" : "warm"));
  report.parameter("calls", std::string(options.direct ? "direct" : "ordinary"));
  if (is_simulated(options)) return;
  const FileSystem file_system = file_system_of(options.directory);
  report.parameter("place", file_system.text());
  report.parameter("in memory", std::string(file_system.in_memory() ? "yes" : "no"));
  report.parameter("memory", memory.bytes);
  report.parameter("memory limited by", memory.limited_by);
  report.parameter("processor cache", memory.processor_cache);
}

// The program's verdict against the store's known size; no edge where the sizes studied have none.
void check_edge(const std::string& name, const Edge& edge, long known, const Plan& plan,
                Report& report) {
  const bool visible = plan.smallest <= known && known < plan.largest;
  report.parameter("known " + name, visible ? known : 0);
  report.check_exact(name + " seen", edge.found(), visible);
  if (visible) report.check(name, edge.bytes(), static_cast<double>(known), kTolerance);
}

// The simulated store is that of rank 0: the caches of several would be larger than one.
void study_simulated(const Options& options, const Plan& plan, Report& report) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const SimulatedSizes sizes = parse_simulated(options.store);
  if (rank != 0) return;
  SimulatedStore store(sizes);
  Sampler sampler(store, MPI_COMM_SELF, options.filter, true);
  Study study(sampler, plan, report);
  study.run();
  report.time(store.now());
  check_edge("read cache", study.edge(Mode::kRead), sizes.read_cache, plan, report);
  check_edge("write cache", study.edge(Mode::kWrite), sizes.write_cache, plan, report);
  const bool ahead = sizes.read_ahead * SimulatedStore::kBlockBytes >= plan.transfer;
  report.check_exact("read-ahead seen", study.reads_ahead(), ahead && sizes.read_cache > 0);
  report.check_exact("words misread", sampler.misread(), 0);
}

void study_files(const Options& options, const Plan& plan, Report& report) {
  refuse_in_simulator();
  const std::string directory =
      make_temporary_directory("--dir", options.directory, static_cast<double>(plan.largest));
  PosixStore store(directory, options.direct, options.drop_caches);
  const double begin = MPI_Wtime();
  Sampler sampler(store, MPI_COMM_WORLD, options.filter, !options.drop_caches);
  Study study(sampler, plan, report);
  study.run();
  long misread =
      scale(store, plan, study.fitting_file(), options.filter, !options.drop_caches, report);
  misread += sampler.misread();
  report.time(MPI_Wtime() - begin);
  MPI_Allreduce(MPI_IN_PLACE, &misread, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  report.check_exact("words misread", misread, 0);
}

void run_study(Options options, Report& report) {
  if (options.self_check) options.store = kSelfCheck;
  const bool simulated = is_simulated(options);
  if (!simulated && options.store != "files") {
    throw UsageError("--store " + options.store +
                     ": expected files or, for instance, simulated:64MiB");
  }
  if (simulated && (options.direct || options.drop_caches || options.larger_than_memory)) {
    throw UsageError("--direct, --drop-caches and --larger-than-memory are about real files");
  }
  const Memory memory = find_memory();
  const Plan plan = plan_of(options, memory);
  report.parameter("store", options.store);
  report_parameters(options, plan, memory, report);
  if (simulated) {
    study_simulated(options, plan, report);
  } else {
    study_files(options, plan, report);
  }
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  using namespace sesame::workload;
  Program program("cachestudy", "how fast files are read and written, and what caches do to it");
  Options options;
  add_options(program.arguments(), options);
  return program.run(argc, argv, [&](Report& report) { run_study(options, report); });
}
