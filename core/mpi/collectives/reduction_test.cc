// The reductions that have a result on several ranks.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

TEST(Allreduce, SumsOnEveryRankInPlaceOrNot) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {0, 1, 2, 3, 16, 33, 1000}) {
        for (const bool in_place : {false, true}) {
          const std::vector<int> mine = values(rank, count);
          std::vector<int> result(static_cast<size_t>(count), -1);
          if (in_place) result = mine;
          EXPECT_EQ(Allreduce(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count, MPI_INT,
                              MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          bool right = true;
          for (Count i = 0; i < count; ++i) {
            right &= result[static_cast<size_t>(i)] == sum_of_values(0, ranks, i);
          }
          EXPECT_TRUE(right) << ranks << " ranks, " << count << " elements";
        }
      }
    });
  }
}

// Ranks come from the last to the first, but begin in their order: the first to combine anything
// are neighbours at the beginning.
std::vector<int> combined;  // the lower operand of each, at first a rank
void log_and_add(const void* in, void* inout, Count, Datatype) {
  const int given = *static_cast<const int*>(in);
  int& result = *static_cast<int*>(inout);
  combined.push_back(std::min(given, result));
  result += given;
}

TEST(Allreduce, OfManyRanksBeginsInTheOrderOfRanks) {
  const int ranks = 512;
  SimulatedJob job(ranks);
  combined.clear();
  job.run([](int rank) {
    int sum = 0;
    if (rank + 1 < ranks) Recv(nullptr, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0) Send(nullptr, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
    const Op op = make_op(log_and_add, true);
    Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
  });
  EXPECT_EQ(combined.at(0), 0);
}

TEST(Allreduce, GivesAllRanksTheSameBitsForFloatingPoint) {
  for (const int ranks : {3, 7, 13, 16}) {
    SimulatedJob job(ranks);
    std::vector<std::vector<double>> results(static_cast<size_t>(ranks));
    job.run([&results](int rank) {
      std::vector<double> mine(40);
      for (size_t i = 0; i < mine.size(); ++i) {
        mine[i] = 1.0 / (rank + 1.0) + 1e-9 * static_cast<double>(i * i);
      }
      std::vector<double>& result = results[static_cast<size_t>(rank)];
      result.resize(mine.size());
      for (const Count count : {Count{1}, Count{40}}) {
        Allreduce(mine.data(), result.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      }
    });
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
  }
}

TEST(Allreduce, KeepsRankOrderForOperationsThatDoNotCommute) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Op op = make_op(compose, false);
      const Datatype type = make_affine_type();
      for (const Count count : {1, 9, 700}) {
        const std::vector<Affine> mine = affines(rank, count);
        std::vector<Affine> result(static_cast<size_t>(count));
        EXPECT_EQ(Allreduce(mine.data(), result.data(), count, type, op, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        bool right = true;
        for (Count i = 0; i < count; ++i) {
          right &= result[static_cast<size_t>(i)] == composed(0, ranks, i);
        }
        EXPECT_TRUE(right) << ranks << " ranks, " << count << " elements";
      }
    });
  }
}

TEST(ReduceScatter, GivesEveryRankItsPartOfTheSum) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const int scale : {0, 1, 7, 9000}) {
        std::vector<int> counts;
        int begin = 0;
        int total = 0;
        for (int i = 0; i < ranks; ++i) {
          counts.push_back(scale * (i % 3));
          if (i < rank) begin += counts.back();
          total += counts.back();
        }
        for (const bool in_place : {false, true}) {
          const std::vector<int> mine = values(rank, total);
          std::vector<int> result(static_cast<size_t>(total), -1);
          if (in_place) result = mine;
          EXPECT_EQ(Reduce_scatter(in_place ? MPI_IN_PLACE : mine.data(), result.data(),
                                   counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          bool right = true;
          for (int i = 0; i < counts[static_cast<size_t>(rank)]; ++i) {
            right &= result[static_cast<size_t>(i)] == sum_of_values(0, ranks, begin + i);
          }
          EXPECT_TRUE(right) << ranks << " ranks, scale " << scale << ", in place " << in_place;
        }
      }
    });
  }
}

TEST(ReduceScatterBlock, GivesEveryRankItsBlockOfTheSum) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {0, 1, 5, 20000}) {
        for (const bool in_place : {false, true}) {
          const std::vector<int> mine = values(rank, ranks * count);
          std::vector<int> result(static_cast<size_t>(ranks * count), -1);
          if (in_place) result = mine;
          EXPECT_EQ(Reduce_scatter_block(in_place ? MPI_IN_PLACE : mine.data(), result.data(),
                                         count, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          bool right = true;
          for (Count i = 0; i < count; ++i) {
            right &= result[static_cast<size_t>(i)] == sum_of_values(0, ranks, rank * count + i);
          }
          EXPECT_TRUE(right) << ranks << " ranks, " << count << " elements";
        }
      }
    });
  }
}

TEST(ReduceScatter, KeepsRankOrderForOperationsThatDoNotCommute) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Op op = make_op(compose, false);
      const Datatype type = make_affine_type();
      for (const bool uniform : {true, false}) {
        std::vector<int> counts;
        int begin = 0;
        int total = 0;
        for (int i = 0; i < ranks; ++i) {
          counts.push_back(uniform ? 3 : 1 + i % 3);
          if (i < rank) begin += counts.back();
          total += counts.back();
        }
        const std::vector<Affine> mine = affines(rank, total);
        std::vector<Affine> result(static_cast<size_t>(total));
        EXPECT_EQ(
            Reduce_scatter(mine.data(), result.data(), counts.data(), type, op, MPI_COMM_WORLD),
            MPI_SUCCESS);
        for (int i = 0; i < counts[static_cast<size_t>(rank)]; ++i) {
          EXPECT_TRUE(result[static_cast<size_t>(i)] == composed(0, ranks, begin + i))
              << ranks << " ranks, rank " << rank << ", uniform " << uniform;
        }
      }
    });
  }
}

TEST(Scan, CombinesAllRanksUpToTheOwnOne) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Op ordered = make_op(compose, false);
      const Datatype type = make_affine_type();
      for (const Count count : {0, 1, 20, 600}) {
        for (const bool in_place : {false, true}) {
          const std::vector<int> mine = values(rank, count);
          std::vector<int> sums(static_cast<size_t>(count), -1);
          if (in_place) sums = mine;
          EXPECT_EQ(Scan(in_place ? MPI_IN_PLACE : mine.data(), sums.data(), count, MPI_INT,
                         MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          const std::vector<Affine> maps = affines(rank, count);
          std::vector<Affine> chain(static_cast<size_t>(count));
          if (in_place) chain = maps;
          EXPECT_EQ(Scan(in_place ? MPI_IN_PLACE : maps.data(), chain.data(), count, type, ordered,
                         MPI_COMM_WORLD),
                    MPI_SUCCESS);
          for (Count i = 0; i < count; ++i) {
            EXPECT_EQ(sums[static_cast<size_t>(i)], sum_of_values(0, rank + 1, i));
            EXPECT_TRUE(chain[static_cast<size_t>(i)] == composed(0, rank + 1, i));
          }
        }
      }
    });
  }
}

TEST(Exscan, CombinesAllRanksBelowTheOwnOneAndLeavesRankZeroAlone) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Op ordered = make_op(compose, false);
      const Datatype type = make_affine_type();
      for (const Count count : {0, 1, 20, 600}) {
        for (const bool in_place : {false, true}) {
          const std::vector<int> mine = values(rank, count);
          std::vector<int> sums(static_cast<size_t>(count), -1);
          if (in_place) sums = mine;
          const std::vector<int> before = sums;
          EXPECT_EQ(Exscan(in_place ? MPI_IN_PLACE : mine.data(), sums.data(), count, MPI_INT,
                           MPI_SUM, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          const std::vector<Affine> maps = affines(rank, count);
          std::vector<Affine> chain(static_cast<size_t>(count));
          if (in_place) chain = maps;
          EXPECT_EQ(Exscan(in_place ? MPI_IN_PLACE : maps.data(), chain.data(), count, type,
                           ordered, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          for (Count i = 0; i < count && rank > 0; ++i) {
            EXPECT_EQ(sums[static_cast<size_t>(i)], sum_of_values(0, rank, i));
            EXPECT_TRUE(chain[static_cast<size_t>(i)] == composed(0, rank, i));
          }
          if (rank == 0) {
            EXPECT_EQ(sums, before);
          }
        }
      }
    });
  }
}

TEST(Reductions, WorkOnDerivedTypesWithUserOperations) {
  // The operation sees the gaps of the type; the buffers' gaps stay as they are.
  constexpr auto add_gapped = [](const void* in, void* inout, Count count, Datatype) {
    for (Count i = 0; i < count; ++i) {
      static_cast<int*>(inout)[3 * i] += static_cast<const int*>(in)[3 * i];
    }
  };
  for (const int ranks : {4, 5, 7}) {
    SimulatedJob job(ranks);
    job.run([ranks, add_gapped](int rank) {
      const Op op = make_op(add_gapped, true);
      const Datatype gapped = make_gapped_type();
      constexpr Count kCount = 300;
      std::vector<int> mine(3 * kCount, -1);
      for (Count i = 0; i < kCount; ++i) {
        mine[static_cast<size_t>(3 * i)] = 1000 * rank + static_cast<int>(i);
      }
      std::vector<int> result(3 * kCount, -7);
      EXPECT_EQ(Allreduce(mine.data(), result.data(), kCount, gapped, op, MPI_COMM_WORLD),
                MPI_SUCCESS);
      for (Count i = 0; i < 3 * kCount; ++i) {
        EXPECT_EQ(
            result[static_cast<size_t>(i)],
            i % 3 == 0 ? 1000 * ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i / 3) : -7);
      }
    });
  }
}

TEST(ReduceLocal, CombinesTwoBuffers) {
  SimulatedJob job(1);
  job.run([](int) {
    const std::vector<int> in = {1, 2, 3};
    std::vector<int> inout = {10, 20, 30};
    EXPECT_EQ(Reduce_local(in.data(), inout.data(), 3, MPI_INT, MPI_SUM), MPI_SUCCESS);
    EXPECT_EQ(inout, (std::vector<int>{11, 22, 33}));
  });
}

}  // namespace
}  // namespace sesame::mpi
