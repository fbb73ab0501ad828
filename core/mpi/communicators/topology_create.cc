#include "core/mpi/communicators/topology_create.h"

#include "core/mpi/api.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {

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
  if (topology_as<CartesianTopology>(topology) != nullptr) {
    *status = MPI_CART;
  } else if (topology_as<GraphTopology>(topology) != nullptr) {
    *status = MPI_GRAPH;
  } else {
    *status = topology != nullptr ? MPI_DIST_GRAPH : MPI_UNDEFINED;
  }
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
