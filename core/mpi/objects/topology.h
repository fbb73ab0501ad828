// Process topologies of communicators (MPI 4.1, chapter 8), made by MPI_Cart_*, MPI_Graph_* and
// MPI_Dist_graph_* and immutable afterwards. Ranks are not reordered: the rank in the new
// communicator is that in the old one, as MPI allows. A communicator owns its topology.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

// The coordinate modulo `dim`, in [0, dim) also for negative ones. REQUIRES: dim > 0.
int wrap_coordinate(int coordinate, int dim);

struct CartesianTopology {
  std::vector<int> dims;
  std::vector<int> periods;  // 0 or 1
  std::vector<int> coords;   // of the own rank

  int ndims() const { return static_cast<int>(dims.size()); }
  std::vector<int> coords_of(int rank) const;
  // REQUIRES: 0 <= coords[i] < dims[i]. Row-major: the last coordinate varies fastest.
  int rank_at(std::span<const int> coords_in) const;
  // The rank `displacement` steps from the own one, MPI_PROC_NULL beyond an edge.
  int neighbor(int direction, int displacement) const;
};

// The whole graph, as MPI_Graph_create takes it; one copy for all ranks.
struct GraphTopology {
  std::shared_ptr<const std::vector<int>> index;
  std::shared_ptr<const std::vector<int>> edges;

  int nodes() const { return static_cast<int>(index->size()); }
  std::span<const int> neighbors(int rank) const {
    const int begin = rank == 0 ? 0 : (*index)[static_cast<size_t>(rank - 1)];
    const int end = (*index)[static_cast<size_t>(rank)];
    return std::span(*edges).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  }
};

// The own edges. Weights are empty when the graph has none.
struct DistGraphTopology {
  std::vector<int> sources, source_weights;
  std::vector<int> destinations, destination_weights;
  bool weighted = false;
};

struct Topology {
  std::variant<CartesianTopology, GraphTopology, DistGraphTopology> variant;
};

// The topology if it is of this kind; null if it is of another kind or null.
template <typename Kind>
const Kind* topology_as(const Topology* topology) {
  return topology != nullptr ? std::get_if<Kind>(&topology->variant) : nullptr;
}

// The ranks that a neighbourhood collective receives from and sends to, in the order of its
// buffers. MPI_PROC_NULL at the edges of a grid that is not periodic.
struct Neighbors {
  std::vector<int> sources;
  std::vector<int> destinations;
};
// The neighbours of `rank`, which must be the own rank in the topology's communicator.
Neighbors neighbors_of(const Topology& topology, int rank);

}  // namespace sesame::mpi
