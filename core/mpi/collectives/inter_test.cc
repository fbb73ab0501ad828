// Collectives between two groups.
#include <gtest/gtest.h>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

// A rank of a job of two groups with an inter-communicator between them.
struct Side {
  int group;  // 0 or 1
  int rank;   // in the group
  int size;
  int remote_size;
  Comm inter;

  // The rank in MPI_COMM_WORLD of rank i of the remote group, for value().
  int remote(int i) const { return group == 0 ? size + i : i; }
};

void run_groups(int first, int second, const std::function<void(const Side&, int)>& body) {
  SimulatedJob job(first + second);
  job.run([&](int rank) {
    const int group = rank < first ? 0 : 1;
    Comm local = MPI_COMM_NULL;
    Comm inter = MPI_COMM_NULL;
    ASSERT_EQ(Comm_split(MPI_COMM_WORLD, group, 0, &local), MPI_SUCCESS);
    ASSERT_EQ(Intercomm_create(local, 0, MPI_COMM_WORLD, group == 0 ? first : 0, 7, &inter),
              MPI_SUCCESS);
    body({group, group == 0 ? rank : rank - first, group == 0 ? first : second,
          group == 0 ? second : first, inter},
         rank);
  });
}

const std::vector<std::pair<int, int>> kGroups = {{1, 1}, {2, 3}, {4, 1}, {3, 8}, {16, 5}};

TEST(InterBcast, GoesFromTheRootToTheOtherGroup) {
  for (const auto& [first, second] : kGroups) {
    run_groups(first, second, [](const Side& side, int rank) {
      for (const int root_group : {0, 1}) {
        const int roots = side.group == root_group ? side.size : side.remote_size;
        for (int root = 0; root < roots; ++root) {
          std::vector<int> data = values(rank, 5000);
          const bool mine = side.group == root_group;
          const int argument = !mine ? root : side.rank == root ? MPI_ROOT : MPI_PROC_NULL;
          EXPECT_EQ(Bcast(data.data(), 5000, MPI_INT, argument, side.inter), MPI_SUCCESS);
          EXPECT_TRUE(data == values(mine ? rank : side.remote(root), 5000));
        }
      }
    });
  }
}

TEST(InterGatherAndScatter, MoveBlocksBetweenTheRootAndTheOtherGroup) {
  for (const auto& [first, second] : kGroups) {
    run_groups(first, second, [](const Side& side, int rank) {
      for (const Count count : {Count{1}, Count{1000}}) {
        const bool has_root = side.group == 0;
        const int root = !has_root ? 0 : side.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        const bool root_here = root == MPI_ROOT;
        std::vector<int> mine = values(rank, count);
        std::vector<int> all(static_cast<size_t>(root_here ? side.remote_size * count : 0));
        EXPECT_EQ(Gather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, root, side.inter),
                  MPI_SUCCESS);
        for (Count i = 0; i < side.remote_size * count && root_here; ++i) {
          ASSERT_EQ(all[static_cast<size_t>(i)],
                    value(side.remote(static_cast<int>(i / count)), i % count));
        }
        std::vector<int> back(static_cast<size_t>(count), -1);
        EXPECT_EQ(
            Scatter(all.data(), count, MPI_INT, back.data(), count, MPI_INT, root, side.inter),
            MPI_SUCCESS);
        if (!has_root) {
          EXPECT_TRUE(back == mine);
        }
      }
    });
  }
}

TEST(InterAllgather, GivesEachGroupTheOthersBlocks) {
  for (const auto& [first, second] : kGroups) {
    run_groups(first, second, [](const Side& side, int rank) {
      const Count count = 30;
      const std::vector<int> mine = values(rank, count);
      std::vector<int> all(static_cast<size_t>(side.remote_size * count), -1);
      EXPECT_EQ(Allgather(mine.data(), count, MPI_INT, all.data(), count, MPI_INT, side.inter),
                MPI_SUCCESS);
      std::vector<int> counts(static_cast<size_t>(side.remote_size), static_cast<int>(count));
      std::vector<int> displacements;
      for (int i = 0; i < side.remote_size; ++i) {
        displacements.push_back(32 * (side.remote_size - 1 - i));
      }
      std::vector<int> spread(static_cast<size_t>(side.remote_size * 32), -1);
      EXPECT_EQ(Allgatherv(mine.data(), count, MPI_INT, spread.data(), counts.data(),
                           displacements.data(), MPI_INT, side.inter),
                MPI_SUCCESS);
      for (int i = 0; i < side.remote_size; ++i) {
        for (Count k = 0; k < 32; ++k) {
          const int expected = k < count ? value(side.remote(i), k) : -1;
          if (k < count) {
            EXPECT_EQ(all[static_cast<size_t>(i * count + k)], expected);
          }
          EXPECT_EQ(spread[static_cast<size_t>(displacements[static_cast<size_t>(i)] + k)],
                    expected);
        }
      }
    });
  }
}

TEST(InterAlltoall, ExchangesABlockWithEveryRankOfTheOtherGroup) {
  for (const auto& [first, second] : kGroups) {
    run_groups(first, second, [](const Side& side, int rank) {
      std::vector<int> out;
      std::vector<int> counts(static_cast<size_t>(side.remote_size), 2);
      std::vector<int> displacements;
      for (int i = 0; i < side.remote_size; ++i) {
        out.push_back(100 * rank + side.remote(i));
        out.push_back(-(100 * rank + side.remote(i)));
        displacements.push_back(2 * i);
      }
      std::vector<int> in(out.size(), 0);
      std::vector<int> in_v(out.size(), 0);
      EXPECT_EQ(Alltoall(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, side.inter), MPI_SUCCESS);
      EXPECT_EQ(Alltoallv(out.data(), counts.data(), displacements.data(), MPI_INT, in_v.data(),
                          counts.data(), displacements.data(), MPI_INT, side.inter),
                MPI_SUCCESS);
      for (int i = 0; i < side.remote_size; ++i) {
        EXPECT_EQ(in[static_cast<size_t>(2 * i)], 100 * side.remote(i) + rank);
        EXPECT_EQ(in[static_cast<size_t>(2 * i + 1)], -(100 * side.remote(i) + rank));
      }
      EXPECT_EQ(in_v, in);
    });
  }
}

TEST(InterReductions, CombineTheVectorsOfTheOtherGroupInRankOrder) {
  for (const auto& [first, second] : kGroups) {
    run_groups(first, second, [](const Side& side, int rank) {
      const Op op = make_op(compose, false);
      const Datatype type = make_affine_type();
      const int begin = side.remote(0);
      const int end = begin + side.remote_size;
      // The total is divisible by both sizes.
      const Count count = side.size * side.remote_size;
      const std::vector<Affine> mine = affines(rank, count);
      std::vector<Affine> result(static_cast<size_t>(count));
      EXPECT_EQ(Allreduce(mine.data(), result.data(), count, type, op, side.inter), MPI_SUCCESS);
      for (Count i = 0; i < count; ++i) {
        EXPECT_TRUE(result[static_cast<size_t>(i)] == composed(begin, end, i));
      }
      const int root = side.group == 1 ? 0 : side.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
      result.assign(result.size(), Affine{});
      EXPECT_EQ(Reduce(mine.data(), result.data(), count, type, op, root, side.inter), MPI_SUCCESS);
      for (Count i = 0; i < count && root == MPI_ROOT; ++i) {
        EXPECT_TRUE(result[static_cast<size_t>(i)] == composed(begin, end, i));
      }
      EXPECT_EQ(
          Reduce_scatter_block(mine.data(), result.data(), side.remote_size, type, op, side.inter),
          MPI_SUCCESS);
      for (Count i = 0; i < side.remote_size; ++i) {
        EXPECT_TRUE(result[static_cast<size_t>(i)] ==
                    composed(begin, end, side.rank * side.remote_size + i));
      }
    });
  }
}

TEST(InterBarrier, WaitsForBothGroups) {
  run_groups(3, 4, [](const Side& side, int rank) {
    const SimTime late = SimTime::from_ns(50'000'000);
    if (rank == 5) self().now = late;
    EXPECT_EQ(Barrier(side.inter), MPI_SUCCESS);
    EXPECT_GE(self().now, late);
    Request request;
    EXPECT_EQ(Ibarrier(side.inter, &request), MPI_SUCCESS);
    wait(request);
  });
}

TEST(InterCollectives, RefuseWhatMpiDoesNotDefine) {
  run_groups(2, 2, [](const Side& side, int) {
    int in = 1;
    int out = 0;
    EXPECT_EQ(Scan(&in, &out, 1, MPI_INT, MPI_SUM, side.inter), MPI_ERR_COMM);
    EXPECT_EQ(Exscan(&in, &out, 1, MPI_INT, MPI_SUM, side.inter), MPI_ERR_COMM);
    EXPECT_EQ(Allreduce(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_SUM, side.inter), MPI_ERR_BUFFER);
    EXPECT_EQ(Bcast(&in, 1, MPI_INT, 2, side.inter), MPI_ERR_ROOT);
  });
}

}  // namespace
}  // namespace sesame::mpi
