#include "core/mpi/objects/topology.h"

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

Neighbors neighbors_of(const Topology& topology, int rank) {
  if (const auto* grid = topology_as<CartesianTopology>(&topology)) return neighbors_in(*grid);
  if (const auto* graph = topology_as<GraphTopology>(&topology)) {
    const std::span<const int> list = graph->neighbors(rank);
    return {{list.begin(), list.end()}, {list.begin(), list.end()}};
  }
  const auto& graph = std::get<DistGraphTopology>(topology.variant);
  return {graph.sources, graph.destinations};
}

int wrap_coordinate(int coordinate, int dim) {
  const int remainder = coordinate % dim;
  return remainder < 0 ? remainder + dim : remainder;
}

std::vector<int> CartesianTopology::coords_of(int rank) const {
  std::vector<int> result(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    result[i] = rank % dims[i];
    rank /= dims[i];
  }
  return result;
}

int CartesianTopology::rank_at(std::span<const int> coords_in) const {
  int rank = 0;
  for (size_t i = 0; i < dims.size(); ++i) rank = rank * dims[i] + coords_in[i];
  return rank;
}

int CartesianTopology::neighbor(int direction, int displacement) const {
  const auto axis = static_cast<size_t>(direction);
  const long long target = static_cast<long long>(coords[axis]) + displacement;
  std::vector<int> target_coords = coords;
  if (target >= 0 && target < dims[axis]) {
    target_coords[axis] = static_cast<int>(target);
  } else if (periods[axis] != 0) {
    target_coords[axis] = wrap_coordinate(static_cast<int>(target % dims[axis]), dims[axis]);
  } else {
    return MPI_PROC_NULL;
  }
  return rank_at(target_coords);
}

}  // namespace sesame::mpi
