#include <gtest/gtest.h>

#include "core/mpi/api.h"
#include "core/mpi/communicators/topology_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/testing/simulated_job.h"

namespace sesame::mpi {
namespace {

using testing::SimulatedJob;

TEST(CartesianTopology, NumbersPlacesInRowMajorOrder) {
  CartesianTopology grid{{3, 4, 2}, {0, 1, 0}, {}};
  EXPECT_EQ(grid.coords_of(13), (std::vector<int>{1, 2, 1}));
  for (int rank = 0; rank < 24; ++rank) EXPECT_EQ(grid.rank_at(grid.coords_of(rank)), rank);
}

TEST(CartesianTopology, NeighborsWrapOnlyInPeriodicDimensions) {
  CartesianTopology grid{{3, 4}, {0, 1}, {2, 0}};
  EXPECT_EQ(grid.neighbor(0, 1), MPI_PROC_NULL);
  EXPECT_EQ(grid.neighbor(0, -2), 0);
  EXPECT_EQ(grid.neighbor(1, -1), 11);
  EXPECT_EQ(grid.neighbor(1, -9), 11);
  EXPECT_EQ(grid.neighbor(1, 4), 8);
}

TEST(Cart, GivesRanksBeyondTheGridNoCommunicator) {
  SimulatedJob job(7);
  job.run([](int rank) {
    const int dims[] = {3, 2};
    const int periods[] = {1, 0};
    Comm grid;
    ASSERT_EQ(Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid), MPI_SUCCESS);
    if (rank == 6) {
      EXPECT_EQ(grid, MPI_COMM_NULL);
      return;
    }
    int own = -1, status = 0, coords[2], down, up;
    Comm_rank(grid, &own);
    EXPECT_EQ(own, rank);
    Topo_test(grid, &status);
    EXPECT_EQ(status, MPI_CART);
    Cart_coords(grid, own, 2, coords);
    EXPECT_EQ(coords[0], rank / 2);
    EXPECT_EQ(coords[1], rank % 2);
    Cart_shift(grid, 0, 1, &down, &up);
    EXPECT_EQ(down, (rank + 4) % 6);
    EXPECT_EQ(up, (rank + 2) % 6);
    Cart_shift(grid, 1, 1, &down, &up);
    EXPECT_EQ(up, rank % 2 == 0 ? rank + 1 : MPI_PROC_NULL);
  });
}

TEST(Cart, SubgridsKeepTheRemainingDimensions) {
  SimulatedJob job(12);
  job.run([](int rank) {
    const int dims[] = {2, 3, 2};
    const int periods[] = {0, 1, 0};
    Comm grid, plane;
    Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &grid);
    const int remain[] = {1, 0, 1};
    ASSERT_EQ(Cart_sub(grid, remain, &plane), MPI_SUCCESS);
    int size = 0, ndims = 0, got[2], period[2], coords[2];
    Comm_size(plane, &size);
    EXPECT_EQ(size, 4);
    Cartdim_get(plane, &ndims);
    EXPECT_EQ(ndims, 2);
    Cart_get(plane, 2, got, period, coords);
    EXPECT_EQ(coords[0], rank / 6);
    EXPECT_EQ(coords[1], rank % 2);
    const int none[] = {0, 0, 0};
    Comm point;
    ASSERT_EQ(Cart_sub(grid, none, &point), MPI_SUCCESS);
    Comm_size(point, &size);
    Cartdim_get(point, &ndims);
    EXPECT_EQ(size, 1);
    EXPECT_EQ(ndims, 0);
  });
}

TEST(Graph, KnowsEveryRanksNeighbors) {
  SimulatedJob job(5);
  job.run([](int rank) {
    const int index[] = {2, 3, 4, 6};
    const int edges[] = {1, 3, 0, 3, 0, 2};
    Comm graph;
    ASSERT_EQ(Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph), MPI_SUCCESS);
    if (rank == 4) {
      EXPECT_EQ(graph, MPI_COMM_NULL);
      return;
    }
    int count = 0, neighbors[2];
    Graph_neighbors_count(graph, 3, &count);
    EXPECT_EQ(count, 2);
    ASSERT_EQ(Graph_neighbors(graph, 3, 2, neighbors), MPI_SUCCESS);
    EXPECT_EQ(neighbors[0], 0);
    EXPECT_EQ(neighbors[1], 2);
    EXPECT_EQ(Graph_neighbors(graph, 3, 1, neighbors), MPI_ERR_ARG);
    const CommObject& comm = *find_comm(this_rank(), graph);
    const Neighbors mine = neighbors_of(*comm.topology, comm.rank);
    EXPECT_EQ(mine.sources.size(), rank == 0 || rank == 3 ? 2u : 1u);
  });
}

// Every rank r lists the edges r -> r + 1 and (r + 2) -> r, so each rank has two edges in each
// direction.
TEST(DistGraph, CollectsEdgesThatOtherRanksListed) {
  constexpr int kRanks = 6;
  SimulatedJob job(kRanks);
  job.run([](int rank) {
    const int sources[] = {rank, (rank + 2) % kRanks};
    const int degrees[] = {1, 1};
    const int destinations[] = {(rank + 1) % kRanks, rank};
    const int weights[] = {10 + rank, 20 + rank};
    Comm graph;
    ASSERT_EQ(Dist_graph_create(MPI_COMM_WORLD, 2, sources, degrees, destinations, weights,
                                MPI_INFO_NULL, 0, &graph),
              MPI_SUCCESS);
    int in = 0, out = 0, weighted = 0;
    Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    ASSERT_EQ(in, 2);
    ASSERT_EQ(out, 2);
    EXPECT_EQ(weighted, 1);
    int from[2], from_weights[2], to[2], to_weights[2];
    Dist_graph_neighbors(graph, 2, from, from_weights, 2, to, to_weights);
    // By the rank that listed the edge.
    const int lister = (rank + kRanks - 1) % kRanks;
    const int first = lister < rank ? 0 : 1;
    EXPECT_EQ(from[first], lister);
    EXPECT_EQ(from_weights[first], 10 + lister);
    EXPECT_EQ(from[1 - first], (rank + 2) % kRanks);
    EXPECT_EQ(from_weights[1 - first], 20 + rank);
  });
}

TEST(DistGraph, AdjacentEdgesStayAsListed) {
  SimulatedJob job(3);
  job.run([](int rank) {
    const int next[] = {(rank + 1) % 3, (rank + 1) % 3};
    const int previous[] = {(rank + 2) % 3, (rank + 2) % 3};
    Comm graph;
    ASSERT_EQ(Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, previous, MPI_UNWEIGHTED, 2, next,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
              MPI_SUCCESS);
    const CommObject& comm = *find_comm(this_rank(), graph);
    const Neighbors mine = neighbors_of(*comm.topology, comm.rank);
    EXPECT_EQ(mine.sources, std::vector<int>(previous, previous + 2));
    EXPECT_EQ(mine.destinations, std::vector<int>(next, next + 2));
    const int beyond[] = {3};
    EXPECT_EQ(Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, beyond, MPI_UNWEIGHTED, 0, nullptr,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
              MPI_ERR_ARG);
  });
}

}  // namespace
}  // namespace sesame::mpi
