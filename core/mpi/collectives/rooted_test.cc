#include <gtest/gtest.h>

#include <numeric>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

const std::vector<Count> kCounts = {0, 1, 100, 4000};

TEST(Bcast, GivesEveryRankTheRootsData) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {Count{0}, Count{1}, Count{100}, Count{4001}, Count{140001}}) {
        for (int root = 0; root<ranks; root += count> 1000 ? 5 : 1) {
          std::vector<int> data = values(rank, count);
          EXPECT_EQ(Bcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD), MPI_SUCCESS);
          EXPECT_TRUE(data == values(root, count)) << ranks << " ranks, root " << root;
        }
      }
    });
  }
}

TEST(Bcast, LeavesTheGapsOfADerivedTypeAlone) {
  for (const int ranks : {4, 8, 9, 16}) {
    SimulatedJob job(ranks);
    job.run([](int rank) {
      const Datatype gapped = make_gapped_type();
      for (const Count count : {Count{5}, Count{4001}, Count{140001}}) {
        std::vector<int> data(static_cast<size_t>(3 * count), -1);
        for (Count i = 0; i < count; ++i) data[static_cast<size_t>(3 * i)] = value(rank, i);
        // The sender's type need not be the receivers'.
        std::vector<int> plain = values(rank, count);
        EXPECT_EQ(rank == 1 ? Bcast(plain.data(), count, MPI_INT, 1, MPI_COMM_WORLD)
                            : Bcast(data.data(), count, gapped, 1, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        bool right = true;
        for (Count i = 0; i < 3 * count && rank != 1; ++i) {
          right &= data[static_cast<size_t>(i)] == (i % 3 == 0 ? value(1, i / 3) : -1);
        }
        EXPECT_TRUE(right) << "rank " << rank;
      }
    });
  }
}

TEST(Bcast, ReportsTruncationWhereTheBufferIsTooSmall) {
  SimulatedJob job(3);
  job.run([](int rank) {
    std::vector<int> data(10);
    const Count count = rank == 2 ? 5 : 10;
    EXPECT_EQ(Bcast(data.data(), count, MPI_INT, 0, MPI_COMM_WORLD),
              rank == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  });
}

TEST(Gather, PutsTheBlocksInRankOrderAtAnyRoot) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : kCounts) {
        std::vector<int> mine = values(rank, count);
        for (int root = 0; root < ranks; ++root) {
          std::vector<int> all(static_cast<size_t>(ranks * count), -1);
          const bool in_place = rank == root && root % 2 == 1;
          if (in_place) std::copy(mine.begin(), mine.end(), all.begin() + root * count);
          EXPECT_EQ(Gather(in_place ? MPI_IN_PLACE : mine.data(), count, MPI_INT, all.data(), count,
                           MPI_INT, root, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          for (int i = 0; i < ranks && rank == root; ++i) {
            EXPECT_TRUE(std::equal(all.begin() + i * count, all.begin() + (i + 1) * count,
                                   values(i, count).begin()))
                << ranks << " ranks, root " << root << ", block " << i;
          }
        }
      }
    });
  }
}

TEST(Gather, UnderstandsDerivedTypes) {
  for (const int ranks : {5, 8}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Datatype gapped = make_gapped_type();
      constexpr Count kCount = 7;
      for (int root = 0; root < ranks; ++root) {
        std::vector<int> mine(3 * kCount, -2);
        for (Count i = 0; i < kCount; ++i) mine[static_cast<size_t>(3 * i)] = value(rank, i);
        std::vector<int> all(static_cast<size_t>(3 * kCount * ranks), -1);
        EXPECT_EQ(
            Gather(mine.data(), kCount, gapped, all.data(), kCount, gapped, root, MPI_COMM_WORLD),
            MPI_SUCCESS);
        for (Count i = 0; i < 3 * kCount * ranks && rank == root; ++i) {
          const Count element = i / 3;
          EXPECT_EQ(all[static_cast<size_t>(i)],
                    i % 3 == 0 ? value(static_cast<int>(element / kCount), element % kCount) : -1);
        }
      }
    });
  }
}

TEST(Scatter, GivesEveryRankItsBlockFromAnyRoot) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : kCounts) {
        for (int root = 0; root < ranks; ++root) {
          std::vector<int> all;
          for (int i = 0; i < ranks && rank == root; ++i) {
            for (const int x : values(root + i, count)) all.push_back(x);
          }
          std::vector<int> mine(static_cast<size_t>(count), -1);
          const bool in_place = rank == root && root % 2 == 1;
          EXPECT_EQ(Scatter(all.data(), count, MPI_INT, in_place ? MPI_IN_PLACE : mine.data(),
                            count, MPI_INT, root, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          if (!in_place) {
            EXPECT_TRUE(mine == values(root + rank, count))
                << ranks << " ranks, root " << root << ", rank " << rank;
          }
        }
      }
    });
  }
}

// Rank i has 3 (i mod 4) elements. The root's buffer has gaps between the blocks.
Count irregular_count(int rank) { return rank % 4 * 3; }

TEST(Gatherv, PutsBlocksOfDifferentSizesWhereTheRootWantsThem) {
  for (const int ranks : {1, 2, 5, 8, 33}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (int root = 0; root < ranks; ++root) {
        std::vector<int> counts(static_cast<size_t>(ranks));
        std::vector<int> displacements(static_cast<size_t>(ranks));
        for (int i = 0; i < ranks; ++i) {
          counts[static_cast<size_t>(i)] = static_cast<int>(irregular_count(i));
          displacements[static_cast<size_t>(i)] = 10 * (ranks - 1 - i);
        }
        std::vector<int> all(static_cast<size_t>(10 * ranks), -1);
        std::vector<int> mine = values(rank, irregular_count(rank));
        EXPECT_EQ(Gatherv(mine.data(), irregular_count(rank), MPI_INT, all.data(), counts.data(),
                          displacements.data(), MPI_INT, root, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        for (int i = 0; i < 10 * ranks && rank == root; ++i) {
          const int from = ranks - 1 - i / 10;
          EXPECT_EQ(all[static_cast<size_t>(i)],
                    i % 10 < irregular_count(from) ? value(from, i % 10) : -1);
        }
      }
    });
  }
}

TEST(Scatterv, TakesBlocksOfDifferentSizesFromWhereTheRootHasThem) {
  for (const int ranks : {1, 2, 5, 8, 33}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (int root = 0; root < ranks; ++root) {
        std::vector<Count> counts(static_cast<size_t>(ranks));
        std::vector<Count> displacements(static_cast<size_t>(ranks));
        std::vector<int> all(static_cast<size_t>(10 * ranks), -1);
        for (int i = 0; i < ranks; ++i) {
          counts[static_cast<size_t>(i)] = irregular_count(i);
          displacements[static_cast<size_t>(i)] = 10 * (ranks - 1 - i);
          for (Count k = 0; k < irregular_count(i); ++k) {
            all[static_cast<size_t>(displacements[static_cast<size_t>(i)] + k)] = value(i, k);
          }
        }
        std::vector<int> mine(static_cast<size_t>(irregular_count(rank)), -1);
        EXPECT_EQ(Scatterv(all.data(), counts.data(), displacements.data(), MPI_INT, mine.data(),
                           irregular_count(rank), MPI_INT, root, MPI_COMM_WORLD),
                  MPI_SUCCESS);
        EXPECT_TRUE(mine == values(rank, irregular_count(rank)));
      }
    });
  }
}

TEST(Reduce, SumsAtAnyRootInPlaceOrNot) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      for (const Count count : {Count{0}, Count{1}, Count{5}, Count{100}, Count{1003}}) {
        for (int root = 0; root < ranks; ++root) {
          std::vector<int> mine = values(rank, count);
          std::vector<int> result(static_cast<size_t>(count), -1);
          const bool in_place = rank == root && root % 2 == 1;
          if (in_place) result = mine;
          EXPECT_EQ(Reduce(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count, MPI_INT,
                           MPI_SUM, root, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          bool right = true;
          for (Count i = 0; i < count && rank == root; ++i) {
            right &= result[static_cast<size_t>(i)] == sum_of_values(0, ranks, i);
          }
          EXPECT_TRUE(right) << ranks << " ranks, root " << root << ", " << count << " elements";
          EXPECT_TRUE(mine == values(rank, count));
        }
      }
    });
  }
}

TEST(Reduce, KeepsRankOrderForOperationsThatDoNotCommute) {
  for (const int ranks : kRankCounts) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Op op = make_op(compose, false);
      const Datatype type = make_affine_type();
      for (const Count count : {Count{1}, Count{7}, Count{600}}) {
        for (int root = 0; root < ranks; ++root) {
          std::vector<Affine> mine = affines(rank, count);
          std::vector<Affine> result(static_cast<size_t>(count));
          const bool in_place = rank == root && root % 2 == 0;
          if (in_place) result = mine;
          EXPECT_EQ(Reduce(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count, type, op,
                           root, MPI_COMM_WORLD),
                    MPI_SUCCESS);
          bool right = true;
          for (Count i = 0; i < count && rank == root; ++i) {
            right &= result[static_cast<size_t>(i)] == composed(0, ranks, i);
          }
          EXPECT_TRUE(right) << ranks << " ranks, root " << root << ", " << count << " elements";
        }
      }
    });
  }
}

}  // namespace
}  // namespace sesame::mpi
