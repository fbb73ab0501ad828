#include "core/mpi/calls/array_lengths.h"

#include "core/mpi/api.h"

namespace sesame::mpi {
namespace {

bool is_inter(Comm comm) {
  int flag = 0;
  return Comm_test_inter(comm, &flag) == MPI_SUCCESS && flag != 0;
}

int topology_of(Comm comm) {
  int topology = MPI_UNDEFINED;
  return Topo_test(comm, &topology) == MPI_SUCCESS ? topology : MPI_UNDEFINED;
}

struct NeighborCounts {
  int in = 0;
  int out = 0;
};

NeighborCounts count_neighbors(Comm comm) {
  NeighborCounts count;
  switch (topology_of(comm)) {
    case MPI_CART:
      count.in = count.out = static_cast<int>(2 * dimensions(comm));
      break;
    case MPI_GRAPH: {
      int rank = 0;
      if (Comm_rank(comm, &rank) == MPI_SUCCESS &&
          Graph_neighbors_count(comm, rank, &count.in) == MPI_SUCCESS)
        count.out = count.in;
      break;
    }
    case MPI_DIST_GRAPH: {
      int weighted = 0;
      Dist_graph_neighbors_count(comm, &count.in, &count.out, &weighted);
      break;
    }
    default:
      break;
  }
  return count;
}

}  // namespace

Count peers(Comm comm) {
  if (!is_inter(comm)) return local_peers(comm);
  int size = 0;
  return Comm_remote_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

Count local_peers(Comm comm) {
  int size = 0;
  return Comm_size(comm, &size) == MPI_SUCCESS ? size : 0;
}

Count root_peers(int root, Comm comm) {
  int rank = MPI_PROC_NULL;
  const bool is_root =
      is_inter(comm) ? root == MPI_ROOT : Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
  return is_root ? peers(comm) : 0;
}

Count at_root(int count, int root, Comm comm) {
  int rank = MPI_PROC_NULL;
  return Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root ? count : 0;
}

Count in_neighbors(Comm comm) { return count_neighbors(comm).in; }
Count out_neighbors(Comm comm) { return count_neighbors(comm).out; }

Count dimensions(Comm comm) {
  int count = 0;
  return topology_of(comm) == MPI_CART && Cartdim_get(comm, &count) == MPI_SUCCESS ? count : 0;
}

}  // namespace sesame::mpi
