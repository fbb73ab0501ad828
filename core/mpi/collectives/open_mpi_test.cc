// The algorithms that Open MPI chooses, and their simulated times against the closed forms of
// docs/models/collectives.md. The tests of answers run with these algorithms, too
// (SESAME_TEST_COLLECTIVES); here are answers of algorithms for more ranks than those tests have.
#include <gtest/gtest.h>

#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/time_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

// The choices that coll_tuned_decision_fixed.c of Open MPI 4.1.4 makes, read there.
TEST(OpenMpiRules, AreThoseOfItsSource) {
  using namespace collectives::open_mpi;
  EXPECT_EQ(choose_allgather(2, 1 << 20), Allgather::kDoubling);
  EXPECT_EQ(choose_allgather(63, 65535), Allgather::kNeighbor);
  EXPECT_EQ(choose_allgather(2048, 31), Allgather::kBruck);
  EXPECT_EQ(choose_allgatherv(7, 255), Allgatherv::kGatherBcast);
  EXPECT_EQ(choose_allgatherv(1024, 4096), Allgatherv::kNeighbor);
  EXPECT_EQ(choose_allreduce(3, 7, true), Allreduce::kRing);
  EXPECT_EQ(choose_allreduce(3, 8, true), Allreduce::kDoubling);
  EXPECT_EQ(choose_allreduce(64, 262143, true), Allreduce::kDoubling);
  EXPECT_EQ(choose_allreduce(5000, 32768, true), Allreduce::kHalvingDoubling);
  EXPECT_EQ(choose_allreduce(3, 131072, false), Allreduce::kLinear);
  EXPECT_EQ(choose_alltoall(32, 511), Alltoall::kBruck);
  EXPECT_EQ(choose_alltoall(32, 512), Alltoall::kScattered);
  EXPECT_EQ(choose_alltoall(127, 262144), Alltoall::kPairwise);
  EXPECT_EQ(choose_alltoallv(64), Alltoall::kPairwise);
  EXPECT_EQ(choose_barrier(4), Barrier::kLinear);
  EXPECT_EQ(choose_barrier(511), Barrier::kTree);
  EXPECT_EQ(choose_barrier(4096), Barrier::kDissemination);
  EXPECT_EQ(choose_bcast(2, 31), Bcast::kChain);
  EXPECT_EQ(choose_bcast(15, 32768), Bcast::kLinear);
  EXPECT_EQ(choose_bcast(31, 1 << 20), Bcast::kScatterDoubling);
  EXPECT_EQ(choose_bcast(256, 16384), Bcast::kSplitBinary);
  EXPECT_EQ(choose_bcast(128, 16384), Bcast::kLinear);
  EXPECT_EQ(choose_gather(3, 131072), Gather::kLinearSync);
  EXPECT_EQ(choose_gather(511, 8191), Gather::kLinear);
  EXPECT_EQ(choose_reduce(15, 8191, true), Reduce::kBinary);
  EXPECT_EQ(choose_reduce(511, 8192, true), Reduce::kOrderedBinary);
  EXPECT_EQ(choose_reduce(7, 8, false), Reduce::kLinear);
  EXPECT_EQ(choose_reduce_scatter(31, 262144, true), ReduceScatter::kPairwise);
  EXPECT_EQ(choose_reduce_scatter(31, 8, false), ReduceScatter::kReduceScatterv);
  EXPECT_EQ(choose_reduce_scatter_block(3, 3, true), ReduceScatter::kDoubling);
  EXPECT_EQ(choose_reduce_scatter_block(32, 65535, true), ReduceScatter::kMirrored);
  EXPECT_EQ(choose_scatter(64, 511), Scatter::kBinomial);
  EXPECT_EQ(choose_scatter(64, 512), Scatter::kAtOnce);
}

TEST(TimeOfOpenMpisBarrier, IsThatOfItsFourAlgorithms) {
  const auto barrier = [](int ranks) { return open_mpi_ns(ranks, [](int) { Barrier(kWorld); }); };
  expect_time(barrier(5), 2 * kLatency + 3 * (kReceiveOverhead + apart(0)), "linear");
  expect_time(barrier(8), 3 * kLatency, "doubling");
  expect_time(barrier(13), (3 + 2) * kLatency, "doubling beyond a power of two");
  expect_time(barrier(100), 7 * kLatency, "dissemination");
  expect_time(barrier(256), 2 * 8 * kLatency, "tree");
}

double bcast_ns(int ranks, Count bytes) {
  return open_mpi_ns(ranks, [bytes](int) {
    std::vector<char> data = bytes_of(bytes);
    Bcast(data.data(), bytes, MPI_BYTE, 0, kWorld);
  });
}

TEST(TimeOfOpenMpisBcast, IsThatOfALinearSend) {
  expect_time(bcast_ns(10, 100'000), message(100'000) + 8 * apart(100'000), "10 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfAChain) {
  expect_time(bcast_ns(5, 1 << 20), 4 * message(1 << 20), "5 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfABinaryTree) {
  expect_time(bcast_ns(7, 1000), 2 * (message(1000) + apart(1000)), "7 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfABinomialTree) {
  expect_time(bcast_ns(16, 100'000), 4 * message(100'000), "16 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfATreeOfRadixFour) {
  expect_time(bcast_ns(16, 1000), 2 * (message(1000) + 2 * apart(1000)), "16 ranks");
  expect_time(bcast_ns(64, 100), 3 * (message(100) + 2 * apart(100)), "64 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfTwoHalvesDownABinaryTree) {
  const double half = 10'000;
  expect_time(bcast_ns(511, 20'000), 8 * (message(half) + apart(half)) + message(half),
              "511 ranks");
}

TEST(TimeOfOpenMpisBcast, IsThatOfScatterAndRecursiveDoubling) {
  const Count bytes = 1 << 20;
  expect_time(bcast_ns(16, bytes), 2 * (4 * kLatency + 15.0 / 16 * static_cast<double>(bytes)),
              "16 ranks");
}

double reduce_ns(int ranks, Count bytes) {
  return open_mpi_ns(ranks, [bytes](int) {
    std::vector<char> in = bytes_of(bytes);
    std::vector<char> out = bytes_of(bytes);
    Reduce(in.data(), out.data(), bytes, MPI_SIGNED_CHAR, MPI_SUM, 0, kWorld);
  });
}

TEST(TimeOfOpenMpisReduce, IsThatOfItsTrees) {
  expect_time(reduce_ns(3, 1000), message(1000) + kReceiveOverhead, "linear");
  expect_time(reduce_ns(5, 10'000), 4 * message(10'000), "chain");
  expect_time(reduce_ns(15, 1000), 3 * (message(1000) + kReceiveOverhead), "binary");
  expect_time(reduce_ns(64, 1000), 6 * message(1000), "binomial");
}

TEST(TimeOfOpenMpisReduce, IsThatOfAnOrderedTreeIfTheOperationDoesNotCommute) {
  for (const int root : {14, 0}) {  // the tree's root, and another rank
    const double measured = open_mpi_ns(15, [root](int rank) {
      const std::vector<Affine> mine = affines(rank, 100);
      std::vector<Affine> result(100);
      Reduce(mine.data(), result.data(), 100, make_affine_type(), make_op(compose, false), root,
             kWorld);
    });
    expect_time(measured, 3 * (message(800) + kReceiveOverhead) + (root == 0 ? message(800) : 0),
                "root " + std::to_string(root));
  }
}

double allreduce_ns(int ranks, Count count) {
  return open_mpi_ns(ranks, [count](int) {
    std::vector<int64_t> in(static_cast<size_t>(count));
    std::vector<int64_t> out(static_cast<size_t>(count));
    Allreduce(in.data(), out.data(), count, MPI_INT64_T, MPI_SUM, kWorld);
  });
}

TEST(TimeOfOpenMpisAllreduce, IsThatOfARing) {
  expect_time(allreduce_ns(3, 9000), 2 * 2 * message(24'000), "3 ranks");
}

TEST(TimeOfOpenMpisAllreduce, IsThatOfRecursiveDoubling) {
  expect_time(allreduce_ns(8, 100), 3 * message(800), "8 ranks");
}

TEST(TimeOfOpenMpisAllreduce, IsThatOfHalvingAndDoubling) {
  expect_time(allreduce_ns(16, 10'000), 2 * (4 * kLatency + 15.0 / 16 * 80'000), "16 ranks");
}

TEST(TimeOfOpenMpisAllreduce, IsLinearWhereHalvingHasTooFewElements) {
  expect_time(allreduce_ns(32, 25), 2 * message(200) + 30 * (kReceiveOverhead + apart(200)),
              "32 ranks");
}

TEST(TimeOfOpenMpisAllreduce, IsThatOfReduceAndBcastForManyRanks) {
  expect_time(allreduce_ns(256, 1), 8 * message(8) + 4 * (message(8) + 2 * apart(8)), "256 ranks");
}

double allgather_ns(int ranks, Count bytes) {
  return open_mpi_ns(ranks, [ranks, bytes](int) {
    std::vector<char> mine = bytes_of(bytes);
    std::vector<char> all = bytes_of(ranks * bytes);
    Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, kWorld);
  });
}

TEST(TimeOfOpenMpisAllgather, IsThatOfItsAlgorithms) {
  expect_time(allgather_ns(8, 1000), 3 * kLatency + 7 * 1000, "doubling");
  expect_time(allgather_ns(6, 1000), 3 * kLatency + 5 * 1000, "Bruck");
  expect_time(allgather_ns(32, 2000), message(2000) + 15 * message(4000), "neighbours");
  expect_time(allgather_ns(33, 2000), 32 * message(2000), "ring, for an odd number");
  expect_time(allgather_ns(32, 70'000), 31 * message(70'000), "ring");
}

double allgatherv_ns(int ranks, int bytes) {
  const std::vector<int> counts(static_cast<size_t>(ranks), bytes);
  std::vector<int> begins;
  for (int i = 0; i < ranks; ++i) begins.push_back(i * bytes);
  return open_mpi_ns(ranks, [&](int) {
    std::vector<char> mine = bytes_of(bytes);
    std::vector<char> all = bytes_of(Count{ranks} * bytes);
    Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), begins.data(), MPI_BYTE,
               kWorld);
  });
}

TEST(TimeOfOpenMpisAllgatherv, IsThatOfItsAlgorithms) {
  expect_time(allgatherv_ns(4, 100), message(100) + 2 * kReceiveOverhead + 2 * message(400),
              "gather and broadcast");
  expect_time(allgatherv_ns(4, 1000), message(1000) + message(2000), "neighbours");
  expect_time(allgatherv_ns(8, 2000), 3 * kLatency + 7 * 2000, "Bruck");
  expect_time(allgatherv_ns(4, 5000), 3 * message(5000), "ring");
  expect_time(allgatherv_ns(32, 300'000), 31 * message(300'000), "ring of whole blocks");
}

TEST(TimeOfOpenMpisGather, IsThatOfItsAlgorithms) {
  const auto gather = [](int ranks, Count bytes) {
    return open_mpi_ns(ranks, [ranks, bytes](int) {
      std::vector<char> mine = bytes_of(bytes);
      std::vector<char> all = bytes_of(ranks * bytes);
      Gather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, kWorld);
    });
  };
  expect_time(gather(5, 2000), message(2000) + 3 * kReceiveOverhead, "linear");
  expect_time(gather(16, 2000), 4 * kLatency + 15 * 2000, "binomial");
  expect_time(gather(3, 200'000), 2 * (kLatency + message(200'000)) + 2 * kReceiveOverhead,
              "linear, when asked");
}

TEST(TimeOfOpenMpisScatter, IsThatOfItsAlgorithms) {
  const auto scatter = [](int ranks, Count bytes) {
    return open_mpi_ns(ranks, [ranks, bytes](int) {
      std::vector<char> mine = bytes_of(bytes);
      std::vector<char> all = bytes_of(ranks * bytes);
      Scatter(all.data(), bytes, MPI_BYTE, mine.data(), bytes, MPI_BYTE, 0, kWorld);
    });
  };
  expect_time(scatter(5, 3000), message(3000) + 3 * apart(3000), "linear");
  expect_time(scatter(16, 2000), 4 * kLatency + 15 * 2000, "binomial");
  expect_time(scatter(10, 20'000), message(20'000) + 8 * apart(20'000), "at once");
}

TEST(TimeOfOpenMpisAlltoall, IsThatOfItsAlgorithms) {
  const auto alltoall = [](int ranks, Count bytes) {
    return open_mpi_ns(ranks, [ranks, bytes](int) {
      std::vector<char> out = bytes_of(ranks * bytes);
      std::vector<char> in = bytes_of(ranks * bytes);
      Alltoall(out.data(), bytes, MPI_BYTE, in.data(), bytes, MPI_BYTE, kWorld);
    });
  };
  expect_time(alltoall(2, 1000), message(1000), "pairwise");
  expect_time(alltoall(40, 1000), message(1000) + 38 * apart(1000), "all at once");
  expect_time(alltoall(32, 100), 5 * (kLatency + 16 * 100), "Bruck");
}

TEST(TimeOfOpenMpisScan, IsThatOfAChain) {
  const double measured = open_mpi_ns(16, [](int) {
    std::vector<double> in(100);
    std::vector<double> out(100);
    Scan(in.data(), out.data(), 100, MPI_DOUBLE, MPI_SUM, kWorld);
  });
  expect_time(measured, 15 * message(800), "16 ranks");
}

TEST(TimeOfOpenMpisReduceScatter, IsThatOfReduceAndScatterForSmallBlocks) {
  const double measured = open_mpi_ns(32, [](int) {
    std::vector<int64_t> in(32);
    int64_t out = 0;
    Reduce_scatter_block(in.data(), &out, 1, MPI_INT64_T, MPI_SUM, kWorld);
  });
  expect_time(measured, 5 * message(256) + 5 * kLatency + 31 * 8, "32 ranks");
}

// Where the root or the number of ranks is odd or even, and where a type has gaps.
TEST(OpenMpisBcast, GivesManyRanksTheRootsData) {
  for (const auto& [ranks, root] : {std::pair{256, 0}, {257, 100}, {300, 299}}) {
    SimulatedJob job(ranks);
    job.world().open_mpi_collectives = true;
    job.run([root](int rank) {
      for (const Count count : {Count{1}, Count{5001}}) {  // a tree of radix 4, two halves
        std::vector<int> data = values(rank, count);
        EXPECT_EQ(Bcast(data.data(), count, MPI_INT, root, kWorld), MPI_SUCCESS);
        EXPECT_TRUE(data == values(root, count)) << "rank " << rank << ", root " << root;
      }
      const Datatype gapped = make_gapped_type();
      std::vector<int> wide(3 * 5000, -1);
      for (int i = 0; rank == root && i < 5000; ++i) wide[static_cast<size_t>(3 * i)] = i;
      Bcast(wide.data(), 5000, gapped, root, kWorld);
      EXPECT_EQ(wide[3 * 4999], 4999);
      EXPECT_EQ(wide[1], -1);
    });
  }
}

TEST(OpenMpisBarrier, ReleasesNoneOfManyRanksBeforeTheLastHasEntered) {
  for (const int ranks : {65, 256, 300}) {
    SimulatedJob job(ranks);
    job.world().open_mpi_collectives = true;
    const SimTime late = SimTime::from_ns(1'000'000);
    job.run([ranks, late](int rank) {
      if (rank == ranks / 3) self().now += late;
      Barrier(kWorld);
      EXPECT_GE(self().now, late);
    });
  }
}

TEST(OpenMpisReductions, GiveManyRanksTheSum) {
  for (const int ranks : {130, 257}) {
    SimulatedJob job(ranks);
    job.world().open_mpi_collectives = true;
    job.run([ranks](int rank) {
      for (const Count count : {Count{1}, Count{3000}}) {  // binomial, in rank order
        const std::vector<int> mine = values(rank, count);
        std::vector<int> sums(static_cast<size_t>(count));
        Allreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, kWorld);
        EXPECT_EQ(sums.back(), sum_of_values(0, ranks, count - 1));
        Reduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, 7, kWorld);
        if (rank == 7) {
          EXPECT_EQ(sums.front(), sum_of_values(0, ranks, 0));
        }
      }
    });
  }
}

}  // namespace
}  // namespace sesame::mpi
