// Graph topologies: every rank knows the whole graph (MPI 4.1, section 8.5.3).
#include <algorithm>

#include "core/mpi/api.h"
#include "core/mpi/communicators/topology_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

int check_graph(Comm handle, CommObject** comm, const GraphTopology** graph) {
  MPI_TRY(check_comm(handle, comm));
  *graph = topology_as<GraphTopology>((*comm)->topology.get());
  if (*graph != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_TOPOLOGY, "the communicator has no graph topology");
}

int check_graph_rank(const GraphTopology& graph, int rank) {
  if (rank >= 0 && rank < graph.nodes()) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "rank " + std::to_string(rank) + " is not in the graph of " +
                                std::to_string(graph.nodes()) + " nodes");
}

int check_nodes(const CommObject& comm, int nnodes) {
  if (nnodes < 0) {
    return fail(MPI_ERR_ARG, "the number of nodes is negative: " + std::to_string(nnodes));
  }
  if (nnodes <= comm.size()) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "the graph has " + std::to_string(nnodes) +
                               " nodes, but the communicator " + std::to_string(comm.size()) +
                               " ranks");
}

int check_edges(int nnodes, const int* index, const int* edges) {
  MPI_TRY(check_out(index, "index"));
  int previous = 0;
  for (int node = 0; node < nnodes; ++node) {
    if (index[node] < previous) {
      return fail(MPI_ERR_ARG, "index[" + std::to_string(node) + "] is " +
                                   std::to_string(index[node]) + ", less than the one before");
    }
    previous = index[node];
  }
  if (previous > 0) MPI_TRY(check_out(edges, "edges"));
  for (int edge = 0; edge < previous; ++edge) {
    if (edges[edge] < 0 || edges[edge] >= nnodes) {
      return fail(MPI_ERR_ARG, "edges[" + std::to_string(edge) + "] is " +
                                   std::to_string(edges[edge]) + ", in a graph of " +
                                   std::to_string(nnodes) + " nodes");
    }
  }
  return MPI_SUCCESS;
}

// One copy for all ranks that pass the same list.
std::shared_ptr<const std::vector<int>> shared_list(const int* values, int count) {
  const MembersRef list = this_rank().world.intern({values, values + count});
  return {list, &list->world_ranks()};
}

void copy_some(const std::vector<int>& from, int capacity, int* to) {
  std::copy_n(from.begin(), std::min(static_cast<size_t>(capacity), from.size()), to);
}

}  // namespace

int Graph_create(Comm comm_old, int nnodes, const int* indx, const int* edges, int /*reorder*/,
                 Comm* comm_graph) {
  CommObject* parent;
  MPI_TRY(check_parent(comm_old, &parent));
  MPI_TRY(check_out(comm_graph, "comm_graph"));
  *comm_graph = MPI_COMM_NULL;
  MPI_TRY(check_nodes(*parent, nnodes));
  auto topology = std::make_unique<Topology>();
  if (nnodes > 0) {
    MPI_TRY(check_edges(nnodes, indx, edges));
    topology->variant =
        GraphTopology{shared_list(indx, nnodes), shared_list(edges, indx[nnodes - 1])};
  }
  return create_with_topology(*parent, nnodes, std::move(topology), comm_graph);
}

int Graph_map(Comm comm, int nnodes, const int* indx, const int* edges, int* newrank) {
  CommObject* object;
  MPI_TRY(check_parent(comm, &object));
  MPI_TRY(check_out(newrank, "newrank"));
  MPI_TRY(check_nodes(*object, nnodes));
  if (nnodes > 0) MPI_TRY(check_edges(nnodes, indx, edges));
  *newrank = object->rank < nnodes ? object->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Graphdims_get(Comm comm, int* nnodes, int* nedges) {
  CommObject* object;
  const GraphTopology* graph;
  MPI_TRY(check_graph(comm, &object, &graph));
  MPI_TRY(check_out(nnodes, "nnodes"));
  MPI_TRY(check_out(nedges, "nedges"));
  *nnodes = graph->nodes();
  *nedges = static_cast<int>(graph->edges->size());
  return MPI_SUCCESS;
}

int Graph_get(Comm comm, int maxindex, int maxedges, int* indx, int* edges) {
  CommObject* object;
  const GraphTopology* graph;
  MPI_TRY(check_graph(comm, &object, &graph));
  if (maxindex < 0 || maxedges < 0) return fail(MPI_ERR_ARG, "an array's length is negative");
  if (maxindex > 0) MPI_TRY(check_out(indx, "index"));
  if (maxedges > 0) MPI_TRY(check_out(edges, "edges"));
  copy_some(*graph->index, maxindex, indx);
  copy_some(*graph->edges, maxedges, edges);
  return MPI_SUCCESS;
}

int Graph_neighbors_count(Comm comm, int rank, int* nneighbors) {
  CommObject* object;
  const GraphTopology* graph;
  MPI_TRY(check_graph(comm, &object, &graph));
  MPI_TRY(check_graph_rank(*graph, rank));
  MPI_TRY(check_out(nneighbors, "nneighbors"));
  *nneighbors = static_cast<int>(graph->neighbors(rank).size());
  return MPI_SUCCESS;
}

int Graph_neighbors(Comm comm, int rank, int maxneighbors, int* neighbors) {
  CommObject* object;
  const GraphTopology* graph;
  MPI_TRY(check_graph(comm, &object, &graph));
  MPI_TRY(check_graph_rank(*graph, rank));
  const std::span<const int> list = graph->neighbors(rank);
  if (maxneighbors < static_cast<int>(list.size())) {
    return fail(MPI_ERR_ARG, "maxneighbors is " + std::to_string(maxneighbors) +
                                 ", but the rank has " + std::to_string(list.size()) +
                                 " neighbours");
  }
  std::copy(list.begin(), list.end(), neighbors);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
