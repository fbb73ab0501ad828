#include "core/mpi/communicators/agree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/mpi/messages/arguments.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

// A message of one integer between two ranks of the test network, overheads included.
constexpr SimTime kMessage = SimTime::from_ns(2000 + 4);

CommObject& world_communicator() { return *find_comm(this_rank(), MPI_COMM_WORLD); }

TEST(ControlGroup, FindsTheMaximumOfAllRanks) {
  for (const int ranks : {1, 2, 3, 5, 8, 13}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      Transfer transfer(world_communicator(), 1);
      std::vector<int> values{rank, -rank, (rank * 7) % ranks};
      std::vector<int> expected{ranks - 1, 0, 0};
      for (int i = 0; i < ranks; ++i) expected[2] = std::max(expected[2], (i * 7) % ranks);
      ControlGroup(transfer).maximum(values);
      EXPECT_EQ(values, expected);
    });
  }
}

TEST(ControlGroup, TakesOneRoundForEachDoublingOfTheRanks) {
  for (int rounds = 1; rounds <= 4; ++rounds) {
    SimulatedJob job(1 << rounds);
    const SimTime end = job.run([](int rank) {
      Transfer transfer(world_communicator(), 1);
      int value = rank;
      ControlGroup(transfer).maximum({&value, 1});
    });
    EXPECT_EQ(end.ps(), rounds * kMessage.ps());
  }
}

TEST(ControlGroup, BroadcastsFromAnyRoot) {
  for (const int ranks : {1, 2, 6, 9}) {
    for (int root = 0; root < ranks; ++root) {
      SimulatedJob job(ranks);
      job.run([root](int rank) {
        Transfer transfer(world_communicator(), 1);
        std::vector<int> values;
        if (rank == root) values = {root, 42, -1};
        ControlGroup(transfer).broadcast(values, root);
        EXPECT_EQ(values, (std::vector<int>{root, 42, -1}));
      });
    }
  }
}

TEST(AgreeOnContext, GivesAllRanksTheFirstThatAllHaveFree) {
  SimulatedJob job(4);
  std::vector<uint32_t> contexts(4);
  job.run([&contexts](int rank) {
    this_rank().next_context = static_cast<uint32_t>(4 + 2 * rank);
    Transfer transfer(world_communicator(), 1);
    ControlGroup control(transfer);
    const auto maximum = [&control](std::span<int> values) { control.maximum(values); };
    contexts[static_cast<size_t>(rank)] = agree_on_context(this_rank(), 2, {}, maximum);
    EXPECT_EQ(this_rank().next_context, 12U);
  });
  EXPECT_EQ(contexts, std::vector<uint32_t>(4, 10));
}

}  // namespace
}  // namespace sesame::mpi
