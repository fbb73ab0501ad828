// Distributed graph topologies: every rank knows its own edges (MPI 4.1, section 8.5.4).
#include <algorithm>

#include "core/mpi/api.h"
#include "core/mpi/communicators/topology_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

int check_dist_graph(Comm handle, CommObject** comm, const DistGraphTopology** graph) {
  MPI_TRY(check_comm(handle, comm));
  *graph = topology_as<DistGraphTopology>((*comm)->topology.get());
  if (*graph != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_TOPOLOGY, "the communicator has no distributed graph topology");
}

int check_node(const CommObject& comm, int node) {
  if (node >= 0 && node < comm.size()) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "the graph has an edge at rank " + std::to_string(node) +
                               ", in a communicator of " + std::to_string(comm.size()) + " ranks");
}

bool are_weights(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

// Reads the own incoming or outgoing edges, as the program lists them.
int read_edges(const CommObject& comm, int degree, const int* nodes, const int* weights,
               std::vector<int>* list, std::vector<int>* list_weights) {
  if (degree < 0) return fail(MPI_ERR_ARG, "a degree is negative: " + std::to_string(degree));
  if (degree == 0) return MPI_SUCCESS;
  MPI_TRY(check_out(nodes, "the neighbours"));
  for (int i = 0; i < degree; ++i) MPI_TRY(check_node(comm, nodes[i]));
  list->assign(nodes, nodes + degree);
  if (!are_weights(weights)) return MPI_SUCCESS;
  MPI_TRY(check_out(weights, "the weights"));
  for (int i = 0; i < degree; ++i) {
    if (weights[i] < 0) {
      return fail(MPI_ERR_ARG, "a weight is negative: " + std::to_string(weights[i]));
    }
  }
  list_weights->assign(weights, weights + degree);
  return MPI_SUCCESS;
}

// One end of an edge: a message from the rank that listed the edge to the rank at this end.
struct EdgeEnd {
  int to;    // the rank at this end
  int from;  // the rank that listed the edge, and its position in that rank's list
  int sequence;
  int outgoing;  // 1: an edge from `to` to `other`; 0: from `other` to `to`
  int other;
  int weight;
};
constexpr size_t kIntsOfEnd = sizeof(EdgeEnd) / sizeof(int);

// Sends the edge ends to their ranks in log2(size) rounds, as in Bruck's all-to-all. In round k an
// end moves on by 2^k ranks if bit k of its remaining distance is set.
std::vector<EdgeEnd> deliver_ends(Transfer& transfer, std::vector<EdgeEnd> ends) {
  const int size = transfer.size();
  const int me = transfer.rank();
  const DatatypeObject& type = *this_rank().datatypes.find(MPI_INT);
  for (int step = 1; step < size; step *= 2) {
    const auto stays = [&](const EdgeEnd& end) {
      return (((end.to - me + size) % size) & step) == 0;
    };
    const auto moving = std::stable_partition(ends.begin(), ends.end(), stays);
    const std::vector<EdgeEnd> sent(moving, ends.end());
    ends.erase(moving, ends.end());
    const int next = (me + step) % size;
    const int previous = (me - step + size) % size;
    const int sent_count = static_cast<int>(sent.size());
    int count = 0;
    transfer.send_receive(&sent_count, 1, type, next, &count, 1, type, previous);
    std::vector<EdgeEnd> received(static_cast<size_t>(count));
    transfer.send_receive(sent.data(), static_cast<Count>(sent.size() * kIntsOfEnd), type, next,
                          received.data(), static_cast<Count>(received.size() * kIntsOfEnd), type,
                          previous);
    ends.insert(ends.end(), received.begin(), received.end());
  }
  std::sort(ends.begin(), ends.end(), [](const EdgeEnd& a, const EdgeEnd& b) {
    return std::pair(a.from, a.sequence) < std::pair(b.from, b.sequence);
  });
  return ends;
}

// Both ends of each edge that the caller lists in MPI_Dist_graph_create.
int list_ends(const CommObject& comm, int n, const int* sources, const int* degrees,
              const int* destinations, const int* weights, std::vector<EdgeEnd>* ends) {
  if (n < 0) return fail(MPI_ERR_ARG, "the number of sources is negative: " + std::to_string(n));
  if (n == 0) return MPI_SUCCESS;
  MPI_TRY(check_out(sources, "sources"));
  MPI_TRY(check_out(degrees, "degrees"));
  int edge = 0;
  for (int i = 0; i < n; ++i) {
    MPI_TRY(check_node(comm, sources[i]));
    if (degrees[i] < 0) {
      return fail(MPI_ERR_ARG, "a degree is negative: " + std::to_string(degrees[i]));
    }
    for (int j = 0; j < degrees[i]; ++j, ++edge) {
      if (edge == 0) {
        MPI_TRY(check_out(destinations, "destinations"));
        MPI_TRY(check_out(weights, "weights"));
      }
      MPI_TRY(check_node(comm, destinations[edge]));
      const int weight = are_weights(weights) ? weights[edge] : 0;
      if (weight < 0) return fail(MPI_ERR_ARG, "a weight is negative: " + std::to_string(weight));
      ends->push_back({sources[i], comm.rank, 2 * edge, 1, destinations[edge], weight});
      ends->push_back({destinations[edge], comm.rank, 2 * edge + 1, 0, sources[i], weight});
    }
  }
  return MPI_SUCCESS;
}

std::unique_ptr<Topology> topology_from(DistGraphTopology graph) {
  auto topology = std::make_unique<Topology>();
  topology->variant = std::move(graph);
  return topology;
}

void copy_edges(const std::vector<int>& nodes, const std::vector<int>& weights, int capacity,
                int* to_nodes, int* to_weights) {
  const size_t count = std::min(static_cast<size_t>(std::max(capacity, 0)), nodes.size());
  std::copy_n(nodes.begin(), count, to_nodes);
  if (are_weights(to_weights) && !weights.empty()) std::copy_n(weights.begin(), count, to_weights);
}

}  // namespace

int Dist_graph_create_adjacent(Comm comm_old, int indegree, const int* sources,
                               const int* sourceweights, int outdegree, const int* destinations,
                               const int* destweights, Info info, int /*reorder*/,
                               Comm* comm_dist_graph) {
  CommObject* parent;
  MPI_TRY(check_parent(comm_old, &parent));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(comm_dist_graph, "comm_dist_graph"));
  *comm_dist_graph = MPI_COMM_NULL;
  DistGraphTopology graph;
  graph.weighted = sourceweights != MPI_UNWEIGHTED;
  MPI_TRY(
      read_edges(*parent, indegree, sources, sourceweights, &graph.sources, &graph.source_weights));
  MPI_TRY(read_edges(*parent, outdegree, destinations, destweights, &graph.destinations,
                     &graph.destination_weights));
  return create_with_topology(*parent, parent->size(), topology_from(std::move(graph)),
                              comm_dist_graph);
}

// A rank's edges are in the order of the ranks that listed them, then in the order of the lists.
int Dist_graph_create(Comm comm_old, int n, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, Info info, int /*reorder*/,
                      Comm* comm_dist_graph) {
  CommObject* parent;
  MPI_TRY(check_parent(comm_old, &parent));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  MPI_TRY(check_out(comm_dist_graph, "comm_dist_graph"));
  *comm_dist_graph = MPI_COMM_NULL;
  std::vector<EdgeEnd> ends;
  MPI_TRY(list_ends(*parent, n, sources, degrees, destinations, weights, &ends));
  DistGraphTopology graph;
  graph.weighted = weights != MPI_UNWEIGHTED;
  MPI_TRY(run_collective(*parent, [&](Transfer& transfer) {
    for (const EdgeEnd& end : deliver_ends(transfer, std::move(ends))) {
      (end.outgoing != 0 ? graph.destinations : graph.sources).push_back(end.other);
      if (!graph.weighted) continue;
      (end.outgoing != 0 ? graph.destination_weights : graph.source_weights).push_back(end.weight);
    }
    return MPI_SUCCESS;
  }));
  return create_with_topology(*parent, parent->size(), topology_from(std::move(graph)),
                              comm_dist_graph);
}

int Dist_graph_neighbors_count(Comm comm, int* indegree, int* outdegree, int* weighted) {
  CommObject* object;
  const DistGraphTopology* graph;
  MPI_TRY(check_dist_graph(comm, &object, &graph));
  MPI_TRY(check_out(indegree, "indegree"));
  MPI_TRY(check_out(outdegree, "outdegree"));
  MPI_TRY(check_out(weighted, "weighted"));
  *indegree = static_cast<int>(graph->sources.size());
  *outdegree = static_cast<int>(graph->destinations.size());
  *weighted = graph->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int Dist_graph_neighbors(Comm comm, int maxindegree, int* sources, int* sourceweights,
                         int maxoutdegree, int* destinations, int* destweights) {
  CommObject* object;
  const DistGraphTopology* graph;
  MPI_TRY(check_dist_graph(comm, &object, &graph));
  if (maxindegree < 0 || maxoutdegree < 0) {
    return fail(MPI_ERR_ARG, "an array's length is negative");
  }
  copy_edges(graph->sources, graph->source_weights, maxindegree, sources, sourceweights);
  copy_edges(graph->destinations, graph->destination_weights, maxoutdegree, destinations,
             destweights);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
