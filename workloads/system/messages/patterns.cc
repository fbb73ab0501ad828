#include "system/messages/patterns.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kit/random.h"

namespace sesame::workload {
namespace {

constexpr int kRandomPairings = 8;
constexpr int kMostShifts = 32;  // of all pairs: beyond that a sample, evenly spaced
constexpr int kExchanges = 4;    // of a sample
constexpr int kTag = 3;

// The ranks that a rank sends to and receives from; negative: none.
struct Partners {
  int to, from;
};

struct Bandwidth {
  double mean, slowest;  // bytes/s of a rank, of the ranks that take part
};

class Patterns {
 public:
  explicit Patterns(int repeat) : repeat_(repeat) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  Partners shift(int by) const { return {(rank_ + by) % ranks_, (rank_ + ranks_ - by) % ranks_}; }

  Partners random_pair(NpbRandom& random) const {
    std::vector<int> order(ranks_);
    std::iota(order.begin(), order.end(), 0);
    for (int i = ranks_ - 1; i > 0; --i) {
      std::swap(order[i], order[static_cast<int>(random.next() * (i + 1))]);
    }
    const int position =
        static_cast<int>(std::find(order.begin(), order.end(), rank_) - order.begin());
    const int other = position ^ 1;
    if (other >= ranks_) return {-1, -1};
    return {order[other], order[other]};
  }

  Bandwidth measure(const std::vector<Partners>& rounds, int size) {
    double mean = 0, slowest = 0;
    for (const Partners& partners : rounds) {
      const Bandwidth round = measure_round(partners, size);
      mean += round.mean / static_cast<double>(rounds.size());
      slowest = slowest == 0 ? round.slowest : std::min(slowest, round.slowest);
    }
    return {mean, slowest};
  }

  int ranks() const { return ranks_; }
  long misdirected() const { return misdirected_; }

 private:
  Bandwidth measure_round(Partners partners, int size) {
    const double seconds = best_time(partners, size);
    const bool takes_part = partners.to >= 0;
    double sums[2] = {takes_part ? size / seconds : 0, takes_part ? 1.0 : 0.0}, totals[2];
    double longest = seconds, slowest = 0;
    MPI_Allreduce(sums, totals, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&longest, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return {totals[0] / totals[1], size / slowest};
  }

  double best_time(Partners partners, int size) {
    std::vector<char> out(size), in(size);
    double best = 0;
    for (int i = 0; i < repeat_; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (partners.to < 0) continue;
      exchange(partners, out, in);  // brings neighbours into step: they leave a barrier one by one
      const double began = MPI_Wtime();
      for (int j = 0; j < kExchanges; ++j) exchange(partners, out, in);
      const double spent = (MPI_Wtime() - began) / kExchanges;
      best = i == 0 ? spent : std::min(best, spent);
    }
    return best;
  }

  void exchange(Partners partners, std::vector<char>& out, std::vector<char>& in) {
    const int size = static_cast<int>(out.size());
    int sender = -1;
    std::memcpy(out.data(), &rank_, sizeof rank_);
    MPI_Sendrecv(out.data(), size, MPI_BYTE, partners.to, kTag, in.data(), size, MPI_BYTE,
                 partners.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::memcpy(&sender, in.data(), sizeof sender);
    misdirected_ += sender != partners.from;
  }

  int rank_ = 0, ranks_ = 1;
  int repeat_;
  long misdirected_ = 0;
};

std::vector<Partners> all_shifts(const Patterns& patterns) {
  const int shifts = std::min(patterns.ranks() - 1, kMostShifts);
  std::vector<Partners> rounds;
  for (int i = 0; i < shifts; ++i) {
    rounds.push_back(patterns.shift(1 + i * (patterns.ranks() - 1) / shifts));
  }
  return rounds;
}

std::vector<Partners> random_pairings(const Patterns& patterns, long seed) {
  NpbRandom random(static_cast<std::uint64_t>(seed) | 1);  // an even start would lose bits
  random.skip(2);
  std::vector<Partners> rounds;
  for (int i = 0; i < kRandomPairings; ++i) rounds.push_back(patterns.random_pair(random));
  return rounds;
}

void add_table(Report& report, Patterns& patterns, const std::string& name,
               const std::vector<Partners>& rounds, const std::vector<int>& sizes) {
  std::vector<double> mean, slowest;
  for (int size : sizes) {
    const Bandwidth bandwidth = patterns.measure(rounds, size);
    mean.push_back(bandwidth.mean);
    slowest.push_back(bandwidth.slowest);
  }
  report.column(name, "size", "B", std::vector<double>(sizes.begin(), sizes.end()));
  report.column(name, "mean", "B/s", mean);
  report.column(name, "slowest", "B/s", slowest);
}

}  // namespace

void measure_patterns(Report& report, const std::vector<int>& sizes, int repeat, long seed) {
  Patterns patterns(repeat);
  add_table(report, patterns, "neighbours", {patterns.shift(1)}, sizes);
  add_table(report, patterns, "random_pairs", random_pairings(patterns, seed), sizes);
  add_table(report, patterns, "all_pairs", all_shifts(patterns), sizes);
  long mine = patterns.misdirected(), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  report.check_exact("misdirected messages", all, 0);
}

}  // namespace sesame::workload
