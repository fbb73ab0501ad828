/* Makes grids and graphs and prints the neighbours in them. */
#include <mpi.h>
#include <stdio.h>

static int me, ranks;

static void list(const char* what, int count, const int* values) {
  printf("%d %s:", me, what);
  for (int i = 0; i < count; ++i) printf(" %d", values[i]);
  printf("\n");
}

/* What arrives from everyone around: MPI_Neighbor_allgather shows the order of neighbours. */
static void gather_around(const char* what, MPI_Comm comm, int sources) {
  int got[16];
  for (int i = 0; i < 16; ++i) got[i] = -7;
  const int mine = 100 + me;
  MPI_Neighbor_allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, comm);
  list(what, sources, got);
}

static void grids(void) {
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], from, to, status, rank;
  MPI_Comm grid, line;
  MPI_Dims_create(ranks, 2, dims);
  list("dims", 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Topo_test(grid, &status);
  printf("%d %s\n", me, status == MPI_CART ? "a grid" : "no grid");
  MPI_Cart_get(grid, 2, dims, periods, coords);
  list("coordinates", 2, coords);
  for (int direction = 0; direction < 2; ++direction) {
    for (int step = -2; step <= 2; ++step) {
      MPI_Cart_shift(grid, direction, step, &from, &to);
      const int pair[2] = {from == MPI_PROC_NULL ? -1 : from, to == MPI_PROC_NULL ? -1 : to};
      list("shift", 2, pair);
    }
  }
  coords[0] = coords[0] - 5 * dims[0];
  MPI_Cart_rank(grid, coords, &rank);
  printf("%d is rank %d, five times around\n", me, rank);
  gather_around("around in the grid", grid, 4);
  const int remain[2] = {0, 1};
  MPI_Cart_sub(grid, remain, &line);
  int size;
  MPI_Comm_size(line, &size);
  MPI_Comm_rank(line, &rank);
  printf("%d is %d of %d in its line\n", me, rank, size);
  MPI_Comm_free(&line);
  MPI_Comm_free(&grid);

  const int one[1] = {ranks - 1}, closed[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, one, closed, 1, &line);
  printf("%d %s the ring\n", me, line == MPI_COMM_NULL ? "outside" : "in");
  if (line != MPI_COMM_NULL) MPI_Comm_free(&line);
}

/* A star: rank 0 knows all, the others know rank 0. */
static void star(void) {
  int index[64], edges[128], neighbors[64], count;
  MPI_Comm graph;
  for (int i = 0; i < ranks; ++i) {
    index[i] = ranks - 1 + i;
    edges[i == 0 ? 0 : ranks - 2 + i] = 0;
  }
  for (int i = 1; i < ranks; ++i) edges[i - 1] = i;
  MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &graph);
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Graph_neighbors_count(graph, rank, &count);
    MPI_Graph_neighbors(graph, rank, count, neighbors);
    list("star", count, neighbors);
  }
  MPI_Graph_neighbors_count(graph, me, &count);
  gather_around("around in the star", graph, count);
  MPI_Comm_free(&graph);
}

static void distributed(void) {
  const int next = (me + 1) % ranks, previous = (me + ranks - 1) % ranks;
  const int sources[2] = {previous, me}, destinations[2] = {next, me};
  const int weights[2] = {10 + me, 20 + me};
  int in, out, weighted, from[4], from_weights[4], to[4], to_weights[4];
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weights, 2, destinations, weights,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(graph, in, from, from_weights, out, to, to_weights);
  list("from", in, from);
  list("weights", in, from_weights);
  list("to", out, to);
  list("weights", out, to_weights);
  gather_around("around in the ring", graph, in);
  MPI_Comm_free(&graph);

  /* Rank 0 knows the whole ring. */
  int nodes[64], degrees[64], targets[64], costs[64];
  for (int i = 0; i < ranks; ++i) {
    nodes[i] = i;
    degrees[i] = 1;
    targets[i] = (i + 1) % ranks;
    costs[i] = 3 * i;
  }
  MPI_Dist_graph_create(MPI_COMM_WORLD, me == 0 ? ranks : 0, nodes, degrees, targets, costs,
                        MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(graph, in, from, from_weights, out, to, to_weights);
  const int edges[6] = {in, out, from[0], from_weights[0], to[0], to_weights[0]};
  list("ring that rank 0 made", 6, edges);
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* Lines of ranks must not mix under mpiexec, and MPI_Init has turned buffering off. */
  static char lines[1 << 16];
  setvbuf(stdout, lines, _IOFBF, sizeof lines);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  grids();
  star();
  distributed();
  MPI_Finalize();
  return 0;
}
