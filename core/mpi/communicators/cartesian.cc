// Cartesian topologies (MPI 4.1, section 8.5).
#include "core/mpi/api.h"
#include "core/mpi/communicators/comm_create.h"
#include "core/mpi/communicators/topology_create.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

// Sets the number of ranks in the grid, which must not be larger than the communicator's.
int check_grid(const CommObject& comm, int ndims, const int* dims, const int* periods, int* ranks) {
  if (ndims < 0) {
    return fail(MPI_ERR_DIMS, "the number of dimensions is negative: " + std::to_string(ndims));
  }
  if (ndims > 0) {
    MPI_TRY(check_out(dims, "dims"));
    MPI_TRY(check_out(periods, "periods"));
  }
  long long product = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] <= 0) {
      return fail(MPI_ERR_DIMS, "dimension " + std::to_string(i) +
                                    " is not positive: " + std::to_string(dims[i]));
    }
    product *= dims[i];
    if (product > comm.size()) {
      return fail(MPI_ERR_TOPOLOGY, "the grid has more places than the communicator has ranks: " +
                                        std::to_string(comm.size()));
    }
  }
  *ranks = static_cast<int>(product);
  return MPI_SUCCESS;
}

int check_maxdims(int maxdims, const CartesianTopology& grid) {
  if (maxdims >= grid.ndims()) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "maxdims is " + std::to_string(maxdims) + ", but the grid has " +
                               std::to_string(grid.ndims()) + " dimensions");
}

std::unique_ptr<Topology> grid_topology(CartesianTopology grid, int rank) {
  grid.coords = grid.coords_of(rank);
  auto topology = std::make_unique<Topology>();
  topology->variant = std::move(grid);
  return topology;
}

}  // namespace

int check_cartesian(Comm handle, CommObject** comm, const CartesianTopology** topology) {
  MPI_TRY(check_comm(handle, comm));
  *topology = topology_as<CartesianTopology>((*comm)->topology.get());
  if (*topology != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology");
}

// `reorder` allows a new order of ranks, but does not require it: they keep their order.
int Cart_create(Comm comm_old, int ndims, const int* dims, const int* periods, int /*reorder*/,
                Comm* comm_cart) {
  CommObject* parent;
  MPI_TRY(check_parent(comm_old, &parent));
  MPI_TRY(check_out(comm_cart, "comm_cart"));
  *comm_cart = MPI_COMM_NULL;
  int ranks = 0;
  MPI_TRY(check_grid(*parent, ndims, dims, periods, &ranks));
  CartesianTopology grid;
  for (int i = 0; i < ndims; ++i) {
    grid.dims.push_back(dims[i]);
    grid.periods.push_back(periods[i] != 0 ? 1 : 0);
  }
  return create_with_topology(*parent, ranks, grid_topology(std::move(grid), parent->rank),
                              comm_cart);
}

int Cart_sub(Comm comm, const int* remain_dims, Comm* newcomm) {
  CommObject* parent;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &parent, &grid));
  MPI_TRY(check_out(newcomm, "newcomm"));
  *newcomm = MPI_COMM_NULL;
  if (grid->ndims() > 0) MPI_TRY(check_out(remain_dims, "remain_dims"));
  // Ranks with the same coordinates in the dropped dimensions stay together, in row-major order.
  CartesianTopology kept;
  int color = 0;
  int key = 0;
  for (size_t i = 0; i < grid->dims.size(); ++i) {
    if (remain_dims[i] != 0) {
      kept.dims.push_back(grid->dims[i]);
      kept.periods.push_back(grid->periods[i]);
      key = key * grid->dims[i] + grid->coords[i];
    } else {
      color = color * grid->dims[i] + grid->coords[i];
    }
  }
  CommObject* part = nullptr;
  MPI_TRY(run_collective(
      *parent, [&](Transfer& transfer) { return split_intra(transfer, color, key, &part); }));
  part->topology = grid_topology(std::move(kept), part->rank);
  *newcomm = part->handle;
  return MPI_SUCCESS;
}

int Cart_map(Comm comm, int ndims, const int* dims, const int* periods, int* newrank) {
  CommObject* object;
  MPI_TRY(check_parent(comm, &object));
  MPI_TRY(check_out(newrank, "newrank"));
  int ranks = 0;
  MPI_TRY(check_grid(*object, ndims, dims, periods, &ranks));
  *newrank = object->rank < ranks ? object->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Cartdim_get(Comm comm, int* ndims) {
  CommObject* object;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &object, &grid));
  MPI_TRY(check_out(ndims, "ndims"));
  *ndims = grid->ndims();
  return MPI_SUCCESS;
}

int Cart_get(Comm comm, int maxdims, int* dims, int* periods, int* coords) {
  CommObject* object;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &object, &grid));
  MPI_TRY(check_maxdims(maxdims, *grid));
  for (size_t i = 0; i < grid->dims.size(); ++i) {
    dims[i] = grid->dims[i];
    periods[i] = grid->periods[i];
    coords[i] = grid->coords[i];
  }
  return MPI_SUCCESS;
}

int Cart_coords(Comm comm, int rank, int maxdims, int* coords) {
  CommObject* object;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &object, &grid));
  if (rank < 0 || rank >= object->size()) {
    return fail(MPI_ERR_RANK, "rank " + std::to_string(rank) + " is not in the grid of " +
                                  std::to_string(object->size()) + " ranks");
  }
  MPI_TRY(check_maxdims(maxdims, *grid));
  const std::vector<int> all = grid->coords_of(rank);
  for (size_t i = 0; i < all.size(); ++i) coords[i] = all[i];
  return MPI_SUCCESS;
}

int Cart_rank(Comm comm, const int* coords, int* rank) {
  CommObject* object;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &object, &grid));
  MPI_TRY(check_out(rank, "rank"));
  if (grid->ndims() > 0) MPI_TRY(check_out(coords, "coords"));
  std::vector<int> wrapped(grid->dims.size());
  for (size_t i = 0; i < wrapped.size(); ++i) {
    const bool inside = coords[i] >= 0 && coords[i] < grid->dims[i];
    if (!inside && grid->periods[i] == 0) {
      return fail(MPI_ERR_ARG, "coordinate " + std::to_string(i) + " is " +
                                   std::to_string(coords[i]) + ", outside the " +
                                   std::to_string(grid->dims[i]) +
                                   " places of a dimension that is not periodic");
    }
    wrapped[i] = wrap_coordinate(coords[i], grid->dims[i]);
  }
  *rank = grid->rank_at(wrapped);
  return MPI_SUCCESS;
}

int Cart_shift(Comm comm, int direction, int disp, int* rank_source, int* rank_dest) {
  CommObject* object;
  const CartesianTopology* grid;
  MPI_TRY(check_cartesian(comm, &object, &grid));
  MPI_TRY(check_out(rank_source, "rank_source"));
  MPI_TRY(check_out(rank_dest, "rank_dest"));
  if (direction < 0 || direction >= grid->ndims()) {
    return fail(MPI_ERR_ARG, "there is no dimension " + std::to_string(direction) +
                                 " in a grid of " + std::to_string(grid->ndims()));
  }
  *rank_source = grid->neighbor(direction, -disp);
  *rank_dest = grid->neighbor(direction, disp);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
