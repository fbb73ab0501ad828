#include "npb/mg/domain.h"

#include <mpi.h>

#include <algorithm>

#include "kit/ranks.h"

namespace sesame::workload {
namespace {

// The points of one layer along `axis`. Layers along later axes include the ghosts of earlier
// ones, so that edges and corners arrive without messages of their own.
struct Layer {
  Layer(const Grid& grid, int axis, int index) {
    for (int a = 0; a < 3; ++a) {
      first[a] = a == axis ? index : a < axis ? 0 : 1;
      last[a] = a == axis ? index : a < axis ? grid.extent[a] + 1 : grid.extent[a];
    }
  }

  int size() const {
    return (last[0] - first[0] + 1) * (last[1] - first[1] + 1) * (last[2] - first[2] + 1);
  }

  template <typename Function>
  void for_each_row(const Grid& grid, Function function) const {
    for (int z = first[2]; z <= last[2]; ++z) {
      for (int y = first[1]; y <= last[1]; ++y) {
        function(grid.at(first[0], y, z), last[0] - first[0] + 1);
      }
    }
  }

  std::array<int, 3> first, last;
};

void read_layer(const Grid& grid, const Layer& layer, double* out) {
  layer.for_each_row(
      grid, [&](long at, int count) { out = std::copy_n(grid.values.data() + at, count, out); });
}

void write_layer(Grid& grid, const Layer& layer, const double* in) {
  layer.for_each_row(grid, [&](long at, int count) {
    std::copy_n(in, count, grid.values.data() + at);
    in += count;
  });
}

}  // namespace

Grid::Grid(std::array<int, 3> extents)
    : extent(extents),
      row(extents[0] + 2),
      plane(row * (extents[1] + 2)),
      values(plane * (extents[2] + 2)) {}

Domain::Domain(Coordinates dims, int rank) : dims_(dims), coordinates_() {
  coordinates_ = coordinates_of(rank);
  for (int axis = 0; axis < 3; ++axis) {
    Coordinates next = coordinates_;
    next[axis] = (coordinates_[axis] + 1) % dims_[axis];
    upper_[axis] = rank_of(next);
    next[axis] = (coordinates_[axis] + dims_[axis] - 1) % dims_[axis];
    lower_[axis] = rank_of(next);
  }
}

Domain Domain::of_all_ranks() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int exponent = require_power_of_two("mg", ranks);
  // The slowest axis first: layers across it are contiguous.
  const Coordinates dims{1 << (exponent / 3), 1 << ((exponent + 1) / 3), 1 << ((exponent + 2) / 3)};
  return {dims, rank};
}

Domain Domain::of_one_rank() { return {{1, 1, 1}, 0}; }

Domain::Coordinates Domain::coordinates_of(int rank) const {
  return {rank % dims_[0], rank / dims_[0] % dims_[1], rank / (dims_[0] * dims_[1])};
}

int Domain::rank_of(Coordinates coordinates) const {
  return (coordinates[2] * dims_[1] + coordinates[1]) * dims_[0] + coordinates[0];
}

void Domain::exchange(Grid& grid) {
  for (int axis = 0; axis < 3; ++axis) {
    const int last = grid.extent[axis];
    const int size = Layer(grid, axis, 1).size();
    if (sent_.size() < static_cast<std::size_t>(size)) {
      sent_.resize(size);
      received_.resize(size);
    }
    const auto move = [&](int from, int to, int receiver, int sender, int tag) {
      read_layer(grid, Layer(grid, axis, from), sent_.data());
      if (dims_[axis] == 1) {
        write_layer(grid, Layer(grid, axis, to), sent_.data());
        return;
      }
      MPI_Sendrecv(sent_.data(), size, MPI_DOUBLE, receiver, tag, received_.data(), size,
                   MPI_DOUBLE, sender, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      write_layer(grid, Layer(grid, axis, to), received_.data());
    };
    move(last, 0, upper_[axis], lower_[axis], 2 * axis);
    move(1, last + 1, lower_[axis], upper_[axis], 2 * axis + 1);
  }
}

Grid Domain::block(int level) const {
  const int points = 1 << level;
  return Grid({points / dims_[0], points / dims_[1], points / dims_[2]});
}

void Domain::gather(const Grid& mine, Grid& whole) const {
  const auto [nx, ny, nz] = mine.extent;
  const int size = nx * ny * nz;
  const int ranks = dims_[0] * dims_[1] * dims_[2];
  std::vector<double> block(size), blocks(static_cast<std::size_t>(size) * ranks);
  double* out = block.data();
  for (int z = 1; z <= nz; ++z) {
    for (int y = 1; y <= ny; ++y) {
      out = std::copy_n(mine.values.data() + mine.at(1, y, z), nx, out);
    }
  }
  MPI_Allgather(block.data(), size, MPI_DOUBLE, blocks.data(), size, MPI_DOUBLE, MPI_COMM_WORLD);
  const double* in = blocks.data();
  for (int rank = 0; rank < ranks; ++rank) {
    const Coordinates coordinates = coordinates_of(rank);
    for (int z = 1; z <= nz; ++z) {
      for (int y = 1; y <= ny; ++y, in += nx) {
        std::copy_n(in, nx,
                    whole.values.data() + whole.at(coordinates[0] * nx + 1, coordinates[1] * ny + y,
                                                   coordinates[2] * nz + z));
      }
    }
  }
}

}  // namespace sesame::workload
