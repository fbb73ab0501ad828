// Collectives within each node and between the nodes. On the test machine a message of m bytes
// takes 2 us + m * 1 ns between nodes and 1 us + m * 1 ns inside one.
#include <gtest/gtest.h>

#include <numeric>

#include "core/machine/collective_rules.h"
#include "core/mpi/collectives/time_data.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/node_groups.h"

namespace sesame::mpi {
namespace {

using namespace testing;
using machine::Collective;

constexpr Count kCount = 5;

double inside(double bytes) { return 1000 + bytes; }

machine::CollectiveTables two_levels() {
  machine::CollectiveTables tables;
  for (const Collective collective :
       {Collective::kAllreduce, Collective::kBarrier, Collective::kBcast, Collective::kReduce}) {
    const auto words = machine::algorithm_words(collective);
    machine::CollectiveRule rule;
    rule.algorithm = static_cast<int>(words.size()) - 1;
    EXPECT_STREQ(words.back(), "two-level");
    tables.rules[static_cast<size_t>(collective)].push_back(rule);
  }
  return tables;
}

struct Job : SimulatedJob {
  Job(int ranks, int cores) : SimulatedJob(ranks, kCrossbar, cores) {
    world().collective_tables = two_levels();
  }
  double ns(const std::function<void(int rank)>& call) {
    return static_cast<double>(run(call).ps()) / 1000;
  }
};

std::vector<int64_t> vector_of(int rank) {
  std::vector<int64_t> vector(kCount);
  std::iota(vector.begin(), vector.end(), int64_t{100} * (rank + 1));
  return vector;
}

// What the vectors of these ranks add up to.
std::vector<int64_t> sum_of(const std::vector<int>& ranks) {
  std::vector<int64_t> sum(kCount);
  for (const int rank : ranks)
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += vector_of(rank)[i];
  return sum;
}

TEST(NodeGroups, AreSharedAndLiveAsLongAsACommunicator) {
  Job job(4, 2);
  std::vector<std::weak_ptr<const NodeGroups>> groups(4);
  job.run([&groups](int rank) {
    Comm copy = MPI_COMM_NULL;
    Comm_split(kWorld, 0, -rank, &copy);
    Barrier(copy);
    CommObject* object = nullptr;
    ASSERT_EQ(check_comm(copy, &object), MPI_SUCCESS);
    groups[static_cast<size_t>(rank)] = object->nodes;
    Barrier(copy);
    for (const auto& one : groups) EXPECT_EQ(one.lock(), object->nodes);
    Barrier(copy);
    Comm_free(&copy);
  });
  for (const auto& one : groups) EXPECT_TRUE(one.expired());
}

// Every collective of `comm`, which has these ranks of the world, with every root.
void check_all(Comm comm, int world_rank, const std::vector<int>& ranks) {
  const std::vector<int64_t> mine = vector_of(world_rank);
  const std::vector<int64_t> sum = sum_of(ranks);
  std::vector<int64_t> got(kCount);
  Allreduce(mine.data(), got.data(), kCount, MPI_INT64_T, MPI_SUM, comm);
  EXPECT_EQ(got, sum);
  got = mine;
  Allreduce(MPI_IN_PLACE, got.data(), kCount, MPI_INT64_T, MPI_SUM, comm);
  EXPECT_EQ(got, sum);
  Request request = MPI_REQUEST_NULL;
  Iallreduce(mine.data(), got.data(), kCount, MPI_INT64_T, MPI_SUM, comm, &request);
  Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(got, sum);
  for (int root = 0; root < static_cast<int>(ranks.size()); ++root) {
    const int root_rank = ranks[static_cast<size_t>(root)];
    const bool is_root = world_rank == root_rank;
    got = vector_of(world_rank);
    Bcast(got.data(), kCount, MPI_INT64_T, root, comm);
    EXPECT_EQ(got, vector_of(root_rank)) << root;
    got = mine;
    Reduce(is_root ? MPI_IN_PLACE : mine.data(), got.data(), kCount, MPI_INT64_T, MPI_SUM, root,
           comm);
    EXPECT_EQ(got, is_root ? sum : mine) << root;
    Reduce(mine.data(), is_root ? got.data() : nullptr, kCount, MPI_INT64_T, MPI_SUM, root, comm);
    if (is_root) {
      EXPECT_EQ(got, sum) << root;
    }
  }
  Barrier(comm);
}

TEST(TwoLevels, GiveTheResultsOfOneLevel) {
  for (const auto& [ranks, cores] : {std::pair{11, 4}, {8, 4}, {7, 2}, {5, 1}, {4, 8}}) {
    Job job(ranks, cores);
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    job.run([&](int rank) { check_all(kWorld, rank, all); });
  }
}

TEST(TwoLevels, WorkInCommunicatorsThatHaveRanksInAnotherOrder) {
  Job job(11, 4);
  const std::vector<int> odd = {9, 7, 5, 3, 1};
  job.run([&](int rank) {
    Comm comm = MPI_COMM_NULL;
    Comm_split(kWorld, rank % 2 == 1 ? 0 : MPI_UNDEFINED, -rank, &comm);
    if (comm == MPI_COMM_NULL) return;
    check_all(comm, rank, odd);
    Comm_free(&comm);
  });
}

TEST(TwoLevels, TakeTheTimeOfBothLevels) {
  for (const auto& [nodes, cores] : {std::pair{2, 2}, {4, 8}, {8, 4}}) {
    const int ranks = nodes * cores;
    const double within = log2_ceil(cores);
    const double between = log2_ceil(nodes);
    Job job(ranks, cores);
    const double bcast_from_last = job.ns([&](int) {
      char data[8] = {};
      Bcast(data, 8, MPI_BYTE, ranks - 1, kWorld);
    });
    expect_time(bcast_from_last, inside(8) + between * message(8) + within * inside(8), "bcast");
    const auto allreduce = [](int) {
      int64_t in = 1;
      int64_t out = 0;
      Allreduce(&in, &out, 1, MPI_INT64_T, MPI_SUM, kWorld);
    };
    expect_time(Job(ranks, cores).ns(allreduce), 2 * within * inside(8) + between * message(8),
                "allreduce");
    expect_time(Job(ranks, cores).ns([](int) { Barrier(kWorld); }),
                within * (inside(0) + inside(1)) + between * message(0), "barrier");
    const auto reduce_to_last = [ranks](int) {
      int64_t in = 1;
      int64_t out = 0;
      Reduce(&in, &out, 1, MPI_INT64_T, MPI_SUM, ranks - 1, kWorld);
    };
    expect_time(Job(ranks, cores).ns(reduce_to_last),
                within * inside(8) + between * message(8) + inside(8), "reduce");
  }
}

TEST(TwoLevels, AreLeftToTheNextRuleWhereThereIsOneLevel) {
  auto tables = two_levels();
  machine::CollectiveRule chain;
  chain.algorithm = 1;
  ASSERT_STREQ(machine::algorithm_words(Collective::kBcast)[1], "chain");
  tables.rules[static_cast<size_t>(Collective::kBcast)].push_back(chain);
  const auto bcast = [](int) {
    char data[8] = {};
    Bcast(data, 8, MPI_BYTE, 0, kWorld);
  };
  Job apart(4, 1);
  apart.world().collective_tables = tables;
  expect_time(apart.ns(bcast), 3 * message(8), "a node each");
  Job together(4, 4);
  together.world().collective_tables = tables;
  expect_time(together.ns(bcast), 3 * inside(8), "one node");
}

}  // namespace
}  // namespace sesame::mpi
