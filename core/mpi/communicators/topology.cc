#include "core/mpi/communicators/topology.h"

#include "core/mpi/api.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/group.h"

namespace sesame::mpi {
namespace {

// MPI 4.1, section 8.6: dimension by dimension, the neighbour below, then the one above.
Neighbors neighbors_in(const CartesianTopology& grid) {
  Neighbors neighbors;
  for (int direction = 0; direction < grid.ndims(); ++direction) {
    neighbors.sources.push_back(grid.neighbor(direction, -1));
    neighbors.sources.push_back(grid.neighbor(direction, 1));
  }
  neighbors.destinations = neighbors.sources;
  return neighbors;
}

}  // namespace

Neighbors neighbors_of(const CommObject& comm) {
  const Topology* topology = comm.topology.get();
  if (const auto* grid = shape_of<CartesianTopology>(topology)) return neighbors_in(*grid);
  if (const auto* graph = shape_of<GraphTopology>(topology)) {
    const std::span<const int> list = graph->neighbors(comm.rank);
    return {{list.begin(), list.end()}, {list.begin(), list.end()}};
  }
  const auto& graph = std::get<DistGraphTopology>(topology->shape);
  return {graph.sources, graph.destinations};
}

int check_parent(Comm handle, CommObject** comm) {
  MPI_TRY(check_comm(handle, comm));
  if (!(*comm)->is_inter) return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "an inter-communicator cannot have a topology");
}

int create_with_topology(CommObject& parent, int ranks, std::unique_ptr<Topology> topology,
                         Comm* newcomm) {
  Rank& rank = this_rank();
  return run_collective(parent, [&](Transfer& transfer) {
    const uint32_t context = agree_with_all(rank, transfer, kIntraContexts);
    if (parent.rank >= ranks) return MPI_SUCCESS;
    MembersRef members = parent.local;
    if (ranks < parent.size()) {
      const std::vector<int>& all = parent.local->world_ranks();
      members = rank.world.intern({all.begin(), all.begin() + ranks});
    }
    CommObject* comm = add_intra(rank, &parent, std::move(members), context);
    comm->topology = std::move(topology);
    *newcomm = comm->handle;
    return MPI_SUCCESS;
  });
}

int Topo_test(Comm comm, int* status) {
  CommObject* object;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_out(status, "status"));
  const Topology* topology = object->topology.get();
  if (shape_of<CartesianTopology>(topology) != nullptr) {
    *status = MPI_CART;
  } else if (shape_of<GraphTopology>(topology) != nullptr) {
    *status = MPI_GRAPH;
  } else {
    *status = topology != nullptr ? MPI_DIST_GRAPH : MPI_UNDEFINED;
  }
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
