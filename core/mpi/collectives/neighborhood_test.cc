#include <gtest/gtest.h>

#include "core/mpi/collectives/test_data.h"

namespace sesame::mpi {
namespace {

using namespace testing;

// A periodic grid; ranks and their coordinates are in row-major order.
struct Grid {
  Grid(int rows, int columns) : rows(rows), columns(columns) {
    const int dims[2] = {rows, columns};
    const int periods[2] = {1, 1};
    EXPECT_EQ(Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm), MPI_SUCCESS);
  }
  // The adjacent rank; direction 0 to 3: up, down, left, right.
  int neighbor(int rank, int direction) const {
    int row = rank / columns;
    int column = rank % columns;
    (direction < 2 ? row : column) += direction % 2 == 0 ? -1 : 1;
    return (row + rows) % rows * columns + (column + columns) % columns;
  }

  int rows;
  int columns;
  Comm comm = MPI_COMM_NULL;
};

const std::vector<std::pair<int, int>> kShapes = {{1, 1}, {1, 2}, {2, 2}, {1, 5}, {3, 4}, {2, 7}};

TEST(NeighborAlltoall, BringsWhatWentUpFromBelowEvenWhereBothNeighborsAreOneRank) {
  for (const auto& [rows, columns] : kShapes) {
    SimulatedJob job(rows * columns);
    job.run([rows = rows, columns = columns](int rank) {
      const Grid grid(rows, columns);
      std::vector<int> out;
      for (int direction = 0; direction < 4; ++direction) out.push_back(10 * rank + direction);
      std::vector<int> in(4, -1);
      EXPECT_EQ(Neighbor_alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, grid.comm),
                MPI_SUCCESS);
      const std::vector<int> counts(4, 1);
      const std::vector<int> places = {3, 2, 1, 0};
      std::vector<int> in_v(4, -1);
      EXPECT_EQ(Neighbor_alltoallv(out.data(), counts.data(), std::vector<int>{0, 1, 2, 3}.data(),
                                   MPI_INT, in_v.data(), counts.data(), places.data(), MPI_INT,
                                   grid.comm),
                MPI_SUCCESS);
      const std::vector<Aint> bytes = {0, 4, 8, 12};
      const std::vector<Datatype> types(4, MPI_INT);
      std::vector<int> in_w(4, -1);
      EXPECT_EQ(
          Neighbor_alltoallw(out.data(), counts.data(), bytes.data(), types.data(), in_w.data(),
                             counts.data(), bytes.data(), types.data(), grid.comm),
          MPI_SUCCESS);
      for (int direction = 0; direction < 4; ++direction) {
        // The neighbour above sent it downwards.
        const int expected = 10 * grid.neighbor(rank, direction) + (direction ^ 1);
        EXPECT_EQ(in[static_cast<size_t>(direction)], expected) << rows << "x" << columns;
        EXPECT_EQ(in_v[static_cast<size_t>(3 - direction)], expected);
        EXPECT_EQ(in_w[static_cast<size_t>(direction)], expected);
      }
    });
  }
}

TEST(NeighborAllgather, CollectsTheBlocksOfTheNeighbors) {
  for (const auto& [rows, columns] : kShapes) {
    SimulatedJob job(rows * columns);
    job.run([rows = rows, columns = columns](int rank) {
      const Grid grid(rows, columns);
      const std::vector<int> mine = values(rank, 3);
      std::vector<int> all(12, -1);
      std::vector<int> spread(16, -1);
      Request request;
      EXPECT_EQ(
          Ineighbor_allgather(mine.data(), 3, MPI_INT, all.data(), 3, MPI_INT, grid.comm, &request),
          MPI_SUCCESS);
      wait(request);
      const std::vector<int> counts(4, 3);
      const std::vector<int> places = {0, 4, 8, 12};
      EXPECT_EQ(Neighbor_allgatherv(mine.data(), 3, MPI_INT, spread.data(), counts.data(),
                                    places.data(), MPI_INT, grid.comm),
                MPI_SUCCESS);
      for (int i = 0; i < 12; ++i) {
        EXPECT_EQ(all[static_cast<size_t>(i)], value(grid.neighbor(rank, i / 3), i % 3));
        EXPECT_EQ(spread[static_cast<size_t>(i / 3 * 4 + i % 3)], all[static_cast<size_t>(i)]);
      }
    });
  }
}

TEST(NeighborAlltoall, SkipsTheEdgesOfAGridThatDoesNotWrap) {
  SimulatedJob job(3);
  job.run([](int rank) {
    Comm line = MPI_COMM_NULL;
    const int dims[1] = {3};
    const int periods[1] = {0};
    EXPECT_EQ(Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &line), MPI_SUCCESS);
    const int out[2] = {10 * rank, 10 * rank + 1};
    int in[2] = {-1, -1};
    EXPECT_EQ(Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line), MPI_SUCCESS);
    EXPECT_EQ(in[0], rank == 0 ? -1 : 10 * (rank - 1) + 1);
    EXPECT_EQ(in[1], rank == 2 ? -1 : 10 * (rank + 1));
  });
}

TEST(NeighborAlltoall, FollowsTheEdgesOfADistributedGraph) {
  // Each rank sends to the next two ranks and receives from the two ranks before it.
  const int ranks = 5;
  SimulatedJob job(ranks);
  job.run([ranks](int rank) {
    const int sources[2] = {(rank + ranks - 1) % ranks, (rank + ranks - 2) % ranks};
    const int destinations[2] = {(rank + 1) % ranks, (rank + 2) % ranks};
    Comm graph = MPI_COMM_NULL;
    EXPECT_EQ(Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2,
                                         destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
              MPI_SUCCESS);
    const int out[2] = {100 * rank + 1, 100 * rank + 2};
    int in[2] = {-1, -1};
    Request request;
    EXPECT_EQ(
        Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, graph, MPI_INFO_NULL, &request),
        MPI_SUCCESS);
    for (int round = 0; round < 2; ++round) {
      in[0] = in[1] = -1;
      EXPECT_EQ(Start(&request), MPI_SUCCESS);
      wait(request);
      EXPECT_EQ(in[0], 100 * sources[0] + 1);
      EXPECT_EQ(in[1], 100 * sources[1] + 2);
    }
    EXPECT_EQ(Request_free(&request), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace sesame::mpi
