// The non-blocking and persistent forms, and checks of arguments.
#include <gtest/gtest.h>

#include "core/mpi/collectives/test_data.h"
#include "core/mpi/objects/comm.h"

namespace sesame::mpi {
namespace {

using namespace testing;

TEST(NonBlockingCollectives, ProgressWhileTheRankComputesAndOwnTheirArguments) {
  for (const int ranks : {1, 2, 7, 16}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Count count = 50;
      Datatype type = make_affine_type();
      Op op = make_op(compose, false);
      std::vector<int> counts(static_cast<size_t>(ranks), static_cast<int>(count));
      std::vector<int> displacements;
      for (int i = 0; i < ranks; ++i) displacements.push_back(static_cast<int>(count) * i);
      const std::vector<Affine> mine = affines(rank, count);
      std::vector<Affine> reduced(static_cast<size_t>(count));
      const std::vector<int> block = values(rank, count);
      std::vector<int> all(static_cast<size_t>(ranks * count), -1);
      std::vector<int> news = values(rank, count);
      Request requests[4];
      EXPECT_EQ(
          Iallreduce(mine.data(), reduced.data(), count, type, op, MPI_COMM_WORLD, &requests[0]),
          MPI_SUCCESS);
      EXPECT_EQ(Iallgatherv(block.data(), count, MPI_INT, all.data(), counts.data(),
                            displacements.data(), MPI_INT, MPI_COMM_WORLD, &requests[1]),
                MPI_SUCCESS);
      EXPECT_EQ(Ibcast(news.data(), count, MPI_INT, ranks - 1, MPI_COMM_WORLD, &requests[2]),
                MPI_SUCCESS);
      EXPECT_EQ(Ibarrier(MPI_COMM_WORLD, &requests[3]), MPI_SUCCESS);
      Type_free(&type);
      Op_free(&op);
      counts.assign(counts.size(), -1);
      displacements.assign(displacements.size(), -1);
      self().now += SimTime::from_ns(1'000'000);
      const SimTime before = self().now;
      EXPECT_EQ(Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(self().now, before) << "they ended while the rank computed";
      for (Count i = 0; i < count; ++i) {
        EXPECT_TRUE(reduced[static_cast<size_t>(i)] == composed(0, ranks, i));
        EXPECT_EQ(news[static_cast<size_t>(i)], value(ranks - 1, i));
      }
      for (Count i = 0; i < ranks * count; ++i) {
        EXPECT_EQ(all[static_cast<size_t>(i)], value(static_cast<int>(i / count), i % count));
      }
    });
  }
}

TEST(PersistentCollectives, GiveTheResultOfTheirBuffersAtEveryStart) {
  for (const int ranks : {1, 3, 8}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      std::vector<int> out(4);
      std::vector<int> sums(4);
      std::vector<int> counts(static_cast<size_t>(ranks), 4);
      std::vector<int> displacements;
      std::vector<int> gathered(static_cast<size_t>(4 * ranks));
      for (int i = 0; i < ranks; ++i) displacements.push_back(4 * i);
      Request requests[2];
      EXPECT_EQ(Allreduce_init(out.data(), sums.data(), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &requests[0]),
                MPI_SUCCESS);
      EXPECT_EQ(
          Gatherv_init(out.data(), 4, MPI_INT, gathered.data(), counts.data(), displacements.data(),
                       MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]),
          MPI_SUCCESS);
      counts.assign(counts.size(), -1);
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i) out[static_cast<size_t>(i)] = value(rank, 10 * round + i);
        EXPECT_EQ(Start(&requests[0]), MPI_SUCCESS);
        EXPECT_EQ(Start(&requests[1]), MPI_SUCCESS);
        EXPECT_EQ(Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(sums[static_cast<size_t>(i)], sum_of_values(0, ranks, 10 * round + i));
        }
        for (int i = 0; i < 4 * ranks && rank == 0; ++i) {
          EXPECT_EQ(gathered[static_cast<size_t>(i)], value(i / 4, 10 * round + i % 4));
        }
      }
      EXPECT_EQ(Request_free(&requests[0]), MPI_SUCCESS);
      EXPECT_EQ(Request_free(&requests[1]), MPI_SUCCESS);
    });
  }
}

// Every non-blocking form once, against its blocking form.
TEST(NonBlockingCollectives, GiveTheResultsOfTheBlockingOnes) {
  for (const int ranks : {2, 5, 8}) {
    SimulatedJob job(ranks);
    job.run([ranks](int rank) {
      const Count n = 6;
      const size_t length = static_cast<size_t>(n * ranks);
      const std::vector<int> in = values(rank, n * ranks);
      const Comm world = MPI_COMM_WORLD;
      const int root = 1;
      const std::vector<int> counts(static_cast<size_t>(ranks), static_cast<int>(n));
      std::vector<int> displacements;
      std::vector<int> byte_displacements;
      for (int i = 0; i < ranks; ++i) {
        displacements.push_back(static_cast<int>(n) * i);
        byte_displacements.push_back(4 * static_cast<int>(n) * i);
      }
      const std::vector<Datatype> types(static_cast<size_t>(ranks), MPI_INT);
      const auto compare = [&](const char* what, const auto& blocking, const auto& starting) {
        std::vector<int> expected(length, -1);
        std::vector<int> result(length, -1);
        Request request;
        EXPECT_EQ(blocking(expected.data()), MPI_SUCCESS) << what;
        EXPECT_EQ(starting(result.data(), &request), MPI_SUCCESS) << what;
        wait(request);
        EXPECT_EQ(result, expected) << what;
      };
      compare(
          "gather",
          [&](int* r) { return Gather(in.data(), n, MPI_INT, r, n, MPI_INT, root, world); },
          [&](int* r, Request* q) {
            return Igather(in.data(), n, MPI_INT, r, n, MPI_INT, root, world, q);
          });
      compare(
          "gatherv",
          [&](int* r) {
            return Gatherv(in.data(), n, MPI_INT, r, counts.data(), displacements.data(), MPI_INT,
                           root, world);
          },
          [&](int* r, Request* q) {
            return Igatherv(in.data(), n, MPI_INT, r, counts.data(), displacements.data(), MPI_INT,
                            root, world, q);
          });
      compare(
          "scatter",
          [&](int* r) { return Scatter(in.data(), n, MPI_INT, r, n, MPI_INT, root, world); },
          [&](int* r, Request* q) {
            return Iscatter(in.data(), n, MPI_INT, r, n, MPI_INT, root, world, q);
          });
      compare(
          "scatterv",
          [&](int* r) {
            return Scatterv(in.data(), counts.data(), displacements.data(), MPI_INT, r, n, MPI_INT,
                            root, world);
          },
          [&](int* r, Request* q) {
            return Iscatterv(in.data(), counts.data(), displacements.data(), MPI_INT, r, n, MPI_INT,
                             root, world, q);
          });
      compare(
          "allgather",
          [&](int* r) { return Allgather(in.data(), n, MPI_INT, r, n, MPI_INT, world); },
          [&](int* r, Request* q) {
            return Iallgather(in.data(), n, MPI_INT, r, n, MPI_INT, world, q);
          });
      compare(
          "alltoall", [&](int* r) { return Alltoall(in.data(), n, MPI_INT, r, n, MPI_INT, world); },
          [&](int* r, Request* q) {
            return Ialltoall(in.data(), n, MPI_INT, r, n, MPI_INT, world, q);
          });
      compare(
          "alltoallv",
          [&](int* r) {
            return Alltoallv(in.data(), counts.data(), displacements.data(), MPI_INT, r,
                             counts.data(), displacements.data(), MPI_INT, world);
          },
          [&](int* r, Request* q) {
            return Ialltoallv(in.data(), counts.data(), displacements.data(), MPI_INT, r,
                              counts.data(), displacements.data(), MPI_INT, world, q);
          });
      compare(
          "alltoallw",
          [&](int* r) {
            return Alltoallw(in.data(), counts.data(), byte_displacements.data(), types.data(), r,
                             counts.data(), byte_displacements.data(), types.data(), world);
          },
          [&](int* r, Request* q) {
            return Ialltoallw(in.data(), counts.data(), byte_displacements.data(), types.data(), r,
                              counts.data(), byte_displacements.data(), types.data(), world, q);
          });
      compare(
          "reduce", [&](int* r) { return Reduce(in.data(), r, n, MPI_INT, MPI_MAX, root, world); },
          [&](int* r, Request* q) {
            return Ireduce(in.data(), r, n, MPI_INT, MPI_MAX, root, world, q);
          });
      compare(
          "reduce_scatter",
          [&](int* r) {
            return Reduce_scatter(in.data(), r, counts.data(), MPI_INT, MPI_SUM, world);
          },
          [&](int* r, Request* q) {
            return Ireduce_scatter(in.data(), r, counts.data(), MPI_INT, MPI_SUM, world, q);
          });
      compare(
          "reduce_scatter_block",
          [&](int* r) { return Reduce_scatter_block(in.data(), r, n, MPI_INT, MPI_SUM, world); },
          [&](int* r, Request* q) {
            return Ireduce_scatter_block(in.data(), r, n, MPI_INT, MPI_SUM, world, q);
          });
      compare(
          "scan", [&](int* r) { return Scan(in.data(), r, n, MPI_INT, MPI_SUM, world); },
          [&](int* r, Request* q) { return Iscan(in.data(), r, n, MPI_INT, MPI_SUM, world, q); });
      compare(
          "exscan", [&](int* r) { return Exscan(in.data(), r, n, MPI_INT, MPI_SUM, world); },
          [&](int* r, Request* q) { return Iexscan(in.data(), r, n, MPI_INT, MPI_SUM, world, q); });
    });
  }
}

TEST(CollectiveArguments, AreErrorsOfTheirClassWhenWrong) {
  SimulatedJob job(2);
  job.run([](int) {
    int data[8] = {};
    int other[8] = {};
    const int bad_counts[2] = {1, -1};
    const int places[2] = {0, 1};
    Datatype uncommitted;
    Type_contiguous(2, MPI_INT, &uncommitted, false);
    const Comm world = MPI_COMM_WORLD;
    EXPECT_EQ(Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(Bcast(data, 1, MPI_INT, 2, world), MPI_ERR_ROOT);
    EXPECT_EQ(Bcast(data, 1, MPI_INT, -1, world), MPI_ERR_ROOT);
    EXPECT_EQ(Bcast(data, -1, MPI_INT, 0, world), MPI_ERR_COUNT);
    EXPECT_EQ(Bcast(data, 1, MPI_DATATYPE_NULL, 0, world), MPI_ERR_TYPE);
    EXPECT_EQ(Bcast(data, 1, uncommitted, 0, world), MPI_ERR_TYPE);
    EXPECT_EQ(Bcast(nullptr, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
    EXPECT_EQ(Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
    EXPECT_EQ(Allreduce(data, other, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
    EXPECT_EQ(Allreduce(data, other, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP);
    EXPECT_EQ(Allreduce(data, other, 1, MPI_INT, MPI_REPLACE, world), MPI_ERR_OP);
    EXPECT_EQ(Allreduce(data, data, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    EXPECT_EQ(Allreduce(data, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    EXPECT_EQ(Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, world), MPI_ERR_BUFFER);
    EXPECT_EQ(Alltoallv(data, bad_counts, places, MPI_INT, other, places, places, MPI_INT, world),
              MPI_ERR_COUNT);
    EXPECT_EQ(Allgatherv(data, 1, MPI_INT, other, bad_counts, places, MPI_INT, world),
              MPI_ERR_COUNT);
    EXPECT_EQ(Reduce_scatter(data, other, bad_counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT);
    EXPECT_EQ(Reduce_local(data, data, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    EXPECT_EQ(Neighbor_allgather(data, 1, MPI_INT, other, 1, MPI_INT, world), MPI_ERR_TOPOLOGY);
    EXPECT_EQ(Barrier(world), MPI_SUCCESS) << "errors leave the communicator as it was";
  });
}

}  // namespace
}  // namespace sesame::mpi
