// NPB kernel EP (NPB specification, RNR-94-007): pairs of normally distributed random numbers
// by the polar method, counted in square annuli. Ranks communicate only at the end.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kit/classes.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/random.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

struct Class {
  const char* name;
  int log2_pairs;
  double sum_x, sum_y;  // published
  std::int64_t accepted;
};

constexpr Class kClasses[] = {
    {"S", 24, -3.247834652034740e+3, -6.958407078382297e+3, 13176389},
    {"W", 25, -2.863319731645753e+3, -6.320053679109499e+3, 26354769},
    {"A", 28, -4.295875165629892e+3, -1.580732573678431e+4, 210832767},
    {"B", 30, 4.033815542441498e+4, -2.660669192809235e+4, 843345606},
};
constexpr std::uint64_t kStart = 271828183;
constexpr double kTolerance = 1e-8;
constexpr int kAnnuli = 10;
constexpr int kBlock = 4096;  // pairs at a time, so that they stay in the first cache

struct Tally {
  double sum_x = 0, sum_y = 0;
  std::array<std::int64_t, kAnnuli> counts{};
};

// The pairs whose point is in the unit circle, packed to the front; their number. Separated from
// the rest so that the unpredictable branch costs a store only.
int accept(NpbRandom& random, int pairs, double* x, double* y, double* t) {
  int accepted = 0;
  for (int i = 0; i < pairs; ++i) {
    x[accepted] = 2 * random.next() - 1;
    y[accepted] = 2 * random.next() - 1;
    t[accepted] = x[accepted] * x[accepted] + y[accepted] * y[accepted];
    accepted += t[accepted] <= 1;
  }
  return accepted;
}

void tally(NpbRandom& random, int pairs, Tally& tally) {
  double x[kBlock + 1], y[kBlock + 1], t[kBlock + 1];
  const int accepted = accept(random, pairs, x, y, t);
  for (int i = 0; i < accepted; ++i) {
    const double factor = std::sqrt(-2 * std::log(t[i]) / t[i]);
    const double deviate_x = x[i] * factor;
    const double deviate_y = y[i] * factor;
    ++tally.counts[static_cast<int>(std::max(std::abs(deviate_x), std::abs(deviate_y)))];
    tally.sum_x += deviate_x;
    tally.sum_y += deviate_y;
  }
}

Tally tally_block(Block pairs) {
  NpbRandom random(kStart);
  random.skip(2 * pairs.begin);
  Tally result;
  for (long at = pairs.begin; at < pairs.end; at += kBlock) {
    tally(random, static_cast<int>(std::min<long>(kBlock, pairs.end - at)), result);
  }
  return result;
}

Tally sum_of_ranks(const Tally& mine) {
  Tally whole;
  const double sums[2] = {mine.sum_x, mine.sum_y};
  double totals[2];
  MPI_Allreduce(sums, totals, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(mine.counts.data(), whole.counts.data(), kAnnuli, MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  whole.sum_x = totals[0];
  whole.sum_y = totals[1];
  return whole;
}

void describe(Report& report, const Class& problem, const Tally& whole, double seconds) {
  const long pairs = 1L << problem.log2_pairs;
  report.parameter("class", problem.name);
  report.parameter("pairs", pairs);
  report.time(seconds);
  report.rate(2 * static_cast<double>(pairs));  // NPB counts random numbers
  report.check("sum of x", whole.sum_x, problem.sum_x, kTolerance);
  report.check("sum of y", whole.sum_y, problem.sum_y, kTolerance);
  std::int64_t accepted = 0;
  for (std::int64_t count : whole.counts) accepted += count;
  report.check_exact("pairs in the circle", accepted, problem.accepted);
  std::vector<double> annulus(kAnnuli), count(whole.counts.begin(), whole.counts.end());
  for (int i = 0; i < kAnnuli; ++i) annulus[i] = i;
  report.column("annuli", "annulus", "", annulus);
  report.column("annuli", "pairs", "", count);
}

void run(Report& report, const std::string& name) {
  const Class& problem = find_class(kClasses, name);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  const Tally whole = sum_of_ranks(tally_block(block_of(1L << problem.log2_pairs, ranks, rank)));
  describe(report, problem, whole, largest(MPI_Wtime() - began));
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("ep",
                                    "NPB kernel EP: normal deviates, embarrassingly parallel");
  std::string name = "S";
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  return program.run(
      argc, argv, [&](sesame::workload::Report& report) { sesame::workload::run(report, name); });
}
