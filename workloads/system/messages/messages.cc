// What messages cost: time over size between two ranks, streams, exchanges, overheads, the largest
// eager message, and the bandwidth when all ranks send at once (Evaluation Metrics for the Paragon
// XP/S-15, RND-93-017, 3.4.1).
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "kit/mpi_library.h"
#include "kit/program.h"
#include "system/messages/pair.h"
#include "system/messages/patterns.h"

namespace sesame::workload {
namespace {

constexpr int kStepsOfAnOctave = 4;
constexpr double kStep = 0.05;     // of the time: a larger deviation from a line is a step
constexpr int kPasses = 3;         // over all sizes: a disturbance seldom lasts until the next
constexpr int kMostSteps = 8;      // whose position is refined
constexpr int kReduced = 131'072;  // doubles, 1 MiB: as long as long reductions are in programs
constexpr int kDone = -1;          // in place of a size

struct Options {
  long most = 4 << 20;
  bool uncached = false;
  int repeat = 9;
  int partner = 1;
  long seed = 1;
};

using Curve = std::map<int, Timing>;

// 0, 1, 2, 3, … and four sizes for each power of two.
std::vector<int> sizes_up_to(int most) {
  std::vector<int> sizes{0};
  for (long base = 1; base <= most; base *= 2) {
    for (long i = 0; i < kStepsOfAnOctave; ++i) {
      const long size = base + base * i / kStepsOfAnOctave;
      if (size > sizes.back() && size <= most) sizes.push_back(static_cast<int>(size));
    }
  }
  return sizes;
}

// Bytes of the largest cache that a core has alone, on processors of today the second level.
int private_cache() {
  constexpr long kUsual = 1 << 20;  // AMD's EPYC since 9004; where the system does not say it
  const long found = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return static_cast<int>(found > 0 ? std::min(found, 1L << 30) : kUsual);
}

double extrapolate(const std::pair<int, Timing>& a, const std::pair<int, Timing>& b, int size) {
  const double slope = (b.second.median - a.second.median) / (b.first - a.first);
  return a.second.median + slope * (size - a.first);
}

// The steps of the curve: two consecutive sizes whose times differ from the line before them and
// from the line after them. Gives the upper size of each step.
std::vector<int> steps_of(const Curve& curve) {
  const std::vector<std::pair<int, Timing>> points(curve.begin(), curve.end());
  std::vector<int> steps;
  for (size_t i = 1; i + 2 < points.size(); ++i) {
    const auto& [before, low] = points[i];
    const auto& [after, high] = points[i + 1];
    const double from_left = extrapolate(points[i - 1], points[i], after);
    const double from_right = extrapolate(points[i + 1], points[i + 2], before);
    if (std::abs(from_left / high.median - 1) > kStep &&
        std::abs(from_right / low.median - 1) > kStep && after - before > 1) {
      steps.push_back(after);
    }
  }
  if (steps.size() > kMostSteps) steps.resize(kMostSteps);
  return steps;
}

// Rank 0 decides which sizes to measure and broadcasts each; its partner follows.
class Survey {
 public:
  explicit Survey(Pair& pair) : pair_(pair) {}

  void lead(int most, int eager_limit) {
    std::vector<int> sizes = sizes_up_to(most);
    if (eager_limit < most) sizes.insert(sizes.end(), {eager_limit, eager_limit + 1});
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (int pass = 0; pass < kPasses; ++pass) {
      for (int size : sizes) measure(size);
    }
    for (int after : steps_of(curve_)) narrow(after);
    pair_.agree(kDone);
  }

  void follow() {
    for (int size; (size = pair_.agree(kDone)) != kDone;) pair_.ping_pong(size);
  }

  const Curve& curve() const { return curve_; }

 private:
  void measure(int size) {
    pair_.agree(size);
    const Timing timing = pair_.ping_pong(size);
    const auto [at, is_new] = curve_.try_emplace(size, timing);
    if (is_new) return;
    at->second.best = std::min(at->second.best, timing.best);
    at->second.median = std::min(at->second.median, timing.median);
  }

  // Halves the gap below `after` until the step is known to the byte.
  void narrow(int after) {
    auto upper = curve_.find(after);
    auto lower = std::prev(upper);
    const auto before_lower = *std::prev(lower), at_lower = *lower;
    const auto at_upper = *upper, after_upper = *std::next(upper);
    int low = lower->first, high = after;
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      for (int pass = 0; pass < kPasses; ++pass) measure(middle);
      const double time = curve_[middle].median;
      const double left = std::abs(extrapolate(before_lower, at_lower, middle) - time);
      const double right = std::abs(extrapolate(at_upper, after_upper, middle) - time);
      (left < right ? low : high) = middle;
    }
  }

  Pair& pair_;
  Curve curve_;
};

// The largest eager message, `most` when all are.
int eager_limit(Pair& pair, int most) {
  if (pair.alone() || pair.is_eager(most)) return most;
  int low = 0, high = most;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (pair.is_eager(middle) ? low : high) = middle;
  }
  return low;
}

void report_curve(Report& report, const Curve& curve) {
  std::vector<double> sizes, best, median, bandwidth;
  for (const auto& [size, timing] : curve) {
    sizes.push_back(size);
    best.push_back(timing.best);
    median.push_back(timing.median);
    bandwidth.push_back(size / timing.median);
  }
  report.column("ping_pong", "size", "B", sizes);
  report.column("ping_pong", "best", "s", best);
  report.column("ping_pong", "median", "s", median);
  report.column("bandwidth", "size", "B", sizes);
  report.column("bandwidth", "bandwidth", "B/s", bandwidth);
}

void report_streams(Report& report, Pair& pair, int most) {
  std::vector<double> sizes, interval, exchange;
  for (long size = 1; size <= most; size *= 4) {
    sizes.push_back(static_cast<double>(size));
    interval.push_back(pair.stream_interval(static_cast<int>(size)));
    exchange.push_back(pair.exchange(static_cast<int>(size)).median);
  }
  report.column("stream", "size", "B", sizes);
  report.column("stream", "interval", "s", interval);
  report.column("stream", "exchange", "s", exchange);
}

// Medians of a pass over both; the least of several passes, as for the curve.
struct Overheads {
  double send = 0, receive = 0;

  void measure(Pair& pair) {
    keep_least(send, pair.send_overhead().median);
    if (!pair.alone()) keep_least(receive, pair.receive_overhead().median);
  }

 private:
  static void keep_least(double& least, double time) {
    least = least == 0 ? time : std::min(least, time);
  }
};

void report_overheads(Report& report, const Pair& pair, const Overheads& overheads) {
  report.figure("send overhead", overheads.send, "s");
  if (!pair.alone()) report.figure("receive overhead", overheads.receive, "s");
}

void measure_pair(Report& report, MPI_Comm comm, const Options& options) {
  const int most = static_cast<int>(options.most);
  int cached = options.uncached ? std::min(private_cache(), most) : most;
  MPI_Bcast(&cached, 1, MPI_INT, 0, comm);  // nodes may have other caches
  if (options.uncached) report.parameter("cached", long{cached});
  Pair pair(comm, most, cached, options.repeat);
  const int limit = eager_limit(pair, most);
  Overheads overheads;
  overheads.measure(pair);
  Survey survey(pair);
  if (pair.leads()) {
    survey.lead(most, limit);
  } else {
    survey.follow();
  }
  if (pair.leads()) report_curve(report, survey.curve());
  overheads.measure(pair);
  report_streams(report, pair, most);
  overheads.measure(pair);
  report_overheads(report, pair, overheads);
  if (limit < most) report.figure("eager limit", limit, "B");
  const double copied = pair.copy().median;
  if (copied > 0) report.figure("copy bandwidth", most / copied, "B/s");
  const double reduced = pair.reduction(kReduced).median;
  if (reduced > 0) report.figure("reduction bandwidth", kReduced * sizeof(double) / reduced, "B/s");
  report.check_exact("damaged bytes", pair.damaged(), 0);
}

void check_options(const Options& options, int ranks) {
  if (options.most < 64 || options.most > 1 << 30) {
    throw UsageError("--most " + std::to_string(options.most) +
                     ": expected a size from 64 bytes to 1 GiB");
  }
  if (options.repeat < 1) {
    throw UsageError("--repeat " + std::to_string(options.repeat) + ": expected at least 1");
  }
  if (ranks > 1 && (options.partner < 1 || options.partner >= ranks)) {
    throw UsageError("--partner " + std::to_string(options.partner) +
                     ": expected a rank from 1 to " + std::to_string(ranks - 1));
  }
}

void run(Report& report, const Options& options) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check_options(options, ranks);
  report.parameter("mpi", mpi_library());
  report.parameter("most", options.most);
  report.parameter("repeat", long{options.repeat});
  if (ranks > 1) report.parameter("partner", long{options.partner});
  const double began = MPI_Wtime();
  MPI_Comm comm;
  const bool takes_part = rank == 0 || rank == options.partner;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &comm);
  if (takes_part) measure_pair(report, comm, options);
  if (takes_part) MPI_Comm_free(&comm);
  if (ranks > 1) {
    std::vector<int> sizes;
    for (int size : {1 << 10, 64 << 10, 1 << 20}) {
      if (size <= options.most) sizes.push_back(size);
    }
    if (!sizes.empty()) measure_patterns(report, sizes, options.repeat, options.seed);
  }
  report.time(MPI_Wtime() - began);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("messages", "latency and bandwidth of messages");
  sesame::workload::Options options;
  program.arguments().add_size("--most", options.most, "largest message");
  program.arguments().add("--uncached", options.uncached,
                          "messages beyond a core's own cache come from memory");
  program.arguments().add("--repeat", options.repeat, "samples of each size");
  program.arguments().add("--partner", options.partner,
                          "the rank that rank 0 exchanges messages with");
  program.arguments().add("--seed", options.seed, "another number draws other random pairs");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::run(report, options);
  });
}
