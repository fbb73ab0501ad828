// Algorithms that the machine file chooses, and collectives that the network does.
#include <gtest/gtest.h>

#include "core/machine/collective_rules.h"
#include "core/mpi/collectives/time_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;
using machine::Collective;

constexpr double kHardware = 3000;  // ns

int number_of(Collective collective, const std::string& word) {
  const auto words = machine::algorithm_words(collective);
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<int>(i);
  ADD_FAILURE() << word;
  return 0;
}

machine::CollectiveTables with_rule(Collective collective, const std::string& algorithm,
                                    uint64_t up_to = std::numeric_limits<uint64_t>::max()) {
  machine::CollectiveTables tables;
  tables.hardware_latency = SimTime::from_ns(static_cast<int64_t>(kHardware));
  machine::CollectiveRule rule;
  rule.up_to = up_to;
  rule.algorithm = number_of(collective, algorithm);
  tables.rules[static_cast<size_t>(collective)].push_back(rule);
  return tables;
}

double table_ns(int ranks, const machine::CollectiveTables& tables,
                const std::function<void(int rank)>& call) {
  SimulatedJob job(ranks);
  job.world().collective_tables = tables;
  return static_cast<double>(job.run(call).ps()) / 1000;
}

TEST(TableRules, ComeBeforeThoseOfTheLibrary) {
  const auto bcast = [](const machine::CollectiveTables& tables, Count bytes) {
    return table_ns(7, tables, [bytes](int) {
      std::vector<char> data = bytes_of(bytes);
      Bcast(data.data(), bytes, MPI_BYTE, 0, kWorld);
    });
  };
  const auto chain = with_rule(Collective::kBcast, "chain", 1000);
  expect_time(bcast(chain, 1000), 6 * message(1000), "chain");
  expect_time(bcast(chain, 1001), bcast({}, 1001), "beyond the rule");
  const auto barrier = with_rule(Collective::kBarrier, "tree");
  expect_time(table_ns(16, barrier, [](int) { Barrier(kWorld); }), 2 * 4 * kLatency, "tree");
}

TEST(TableRules, AlsoHoldForTheNonBlockingForms) {
  const auto barrier = with_rule(Collective::kBarrier, "tree");
  const double time = table_ns(16, barrier, [](int) {
    Request request;
    Ibarrier(kWorld, &request);
    Wait(&request, MPI_STATUS_IGNORE);
  });
  expect_time(time, 2 * 4 * kLatency, "tree");
}

TEST(HardwareCollectives, EndAFixedTimeAfterTheLastRankEnters) {
  const auto tables = with_rule(Collective::kBarrier, "hardware");
  for (const int ranks : {2, 7, 64}) {
    expect_time(table_ns(ranks, tables, [](int) { Barrier(kWorld); }), kHardware, "at once");
    // Rank 1 enters after it has received a message of rank 0.
    const double late = table_ns(ranks, tables, [](int rank) {
      char data = 0;
      if (rank == 0) Send(&data, 1, MPI_BYTE, 1, 0, kWorld);
      if (rank == 1) Recv(&data, 1, MPI_BYTE, 0, 0, kWorld, MPI_STATUS_IGNORE);
      Barrier(kWorld);
    });
    expect_time(late, message(1) + kHardware, "late");
  }
}

TEST(HardwareCollectives, GiveTheSameSumOnAllRanks) {
  auto tables = with_rule(Collective::kAllreduce, "hardware");
  tables.hardware_bandwidth = 1e9;
  const double time = table_ns(13, tables, [](int rank) {
    std::vector<double> mine(100, rank), sum(100);
    Allreduce(mine.data(), sum.data(), 100, MPI_DOUBLE, MPI_SUM, kWorld);
    for (const double value : sum) EXPECT_EQ(value, 13 * 12 / 2);
    EXPECT_EQ(mine[0], rank);
  });
  expect_time(time, kHardware + 800, "100 doubles at 1 GB/s");
}

TEST(HardwareCollectives, DoNotMixCommunicatorsThatOverlap) {
  const auto tables = with_rule(Collective::kAllreduce, "hardware");
  table_ns(8, tables, [](int rank) {
    Comm half, pair;
    Comm_split(kWorld, rank % 2, rank, &half);
    Comm_split(kWorld, rank / 2, rank, &pair);
    int in_half = 0, in_pair = 0, all = 0;
    Request requests[2];
    Iallreduce(&rank, &in_half, 1, MPI_INT, MPI_SUM, half, &requests[0]);
    Iallreduce(&rank, &in_pair, 1, MPI_INT, MPI_SUM, pair, &requests[1]);
    Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, kWorld);
    Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in_half, rank % 2 == 0 ? 0 + 2 + 4 + 6 : 1 + 3 + 5 + 7);
    EXPECT_EQ(in_pair, 4 * (rank / 2) + 1);
    EXPECT_EQ(all, 28);
    Comm_free(&half);
    Comm_free(&pair);
  });
}

}  // namespace
}  // namespace sesame::mpi
