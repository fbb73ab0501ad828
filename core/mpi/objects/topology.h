// Process topologies: what a communicator knows about its ranks' neighbours. Made by MPI_Cart_*,
// MPI_Graph_* and MPI_Dist_graph_*; never changed afterwards. Ranks are not reordered: the rank in
// the new communicator is that in the old one, as MPI allows.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct CommObject;

// The coordinate modulo `dim`, in [0, dim) for negative ones, too. REQUIRES: dim > 0.
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

// The part of a kind; null when the topology is of another one or there is none.
template <typename Shape>
const Shape* topology_as(const Topology* topology) {
  return topology != nullptr ? std::get_if<Shape>(&topology->variant) : nullptr;
}

// Whom a neighbourhood collective receives from and sends to, in the order of its buffers; may hold
// MPI_PROC_NULL (edges of a grid that is not periodic).
struct Neighbors {
  std::vector<int> sources;
  std::vector<int> destinations;
};
// REQUIRES: the communicator has a topology.
Neighbors neighbors_of(const CommObject& comm);

}  // namespace sesame::mpi
