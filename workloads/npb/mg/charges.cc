#include "npb/mg/charges.h"

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "kit/random.h"

namespace sesame::workload {
namespace {

constexpr std::uint64_t kStart = 314159265;
constexpr int kCharges = 10;  // of each sign

// The kCharges largest values so far, the largest first.
struct Largest {
  double value[kCharges];
  std::int64_t index[kCharges];

  void add(double new_value, std::int64_t new_index) {
    if (new_value <= value[kCharges - 1]) return;
    int at = kCharges - 1;
    for (; at > 0 && value[at - 1] < new_value; --at) {
      value[at] = value[at - 1];
      index[at] = index[at - 1];
    }
    value[at] = new_value;
    index[at] = new_index;
  }
};

struct Extremes {
  Largest up, down;  // `down` holds negated values
};

void merge(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const Extremes*>(in);
  auto* to = static_cast<Extremes*>(in_out);
  for (int i = 0; i < *count; ++i) {
    for (int k = 0; k < kCharges; ++k) {
      to[i].up.add(from[i].up.value[k], from[i].up.index[k]);
      to[i].down.add(from[i].down.value[k], from[i].down.index[k]);
    }
  }
}

Extremes find_extremes(const Domain& domain, long points, const Grid& grid) {
  Extremes found;
  for (Largest* side : {&found.up, &found.down}) {
    std::fill_n(side->value, kCharges, -2.0);  // below all values and their negatives
    std::fill_n(side->index, kCharges, -1);
  }
  const auto [nx, ny, nz] = grid.extent;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const long row = (domain.begin(2, nz) + z) * points + domain.begin(1, ny) + y;
      const long first = row * points + domain.begin(0, nx);
      NpbRandom random(kStart);
      random.skip(first);
      for (int x = 0; x < nx; ++x) {
        const double value = random.next();
        found.up.add(value, first + x);
        found.down.add(-value, first + x);
      }
    }
  }
  return found;
}

Extremes extremes_of_all(const Extremes& mine) {
  MPI_Datatype type;
  MPI_Op operation;
  MPI_Type_contiguous(sizeof(Extremes), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(merge, 1, &operation);
  Extremes all;
  MPI_Allreduce(&mine, &all, 1, type, operation, MPI_COMM_WORLD);
  MPI_Op_free(&operation);
  MPI_Type_free(&type);
  return all;
}

void place(const Domain& domain, long points, const Largest& places, double charge, Grid& grid) {
  for (std::int64_t index : places.index) {
    const std::array<long, 3> global{index % points, index / points % points,
                                     index / (points * points)};
    std::array<int, 3> local;
    bool mine = true;
    for (int axis = 0; axis < 3; ++axis) {
      const int extent = grid.extent[axis];
      local[axis] = static_cast<int>(global[axis]) - domain.begin(axis, extent);
      mine = mine && 0 <= local[axis] && local[axis] < extent;
    }
    if (mine) grid.values[grid.at(local[0] + 1, local[1] + 1, local[2] + 1)] = charge;
  }
}

}  // namespace

void place_charges(const Domain& domain, int points, Grid& grid) {
  std::fill(grid.values.begin(), grid.values.end(), 0.0);
  const Extremes extremes = extremes_of_all(find_extremes(domain, points, grid));
  place(domain, points, extremes.up, 1, grid);
  place(domain, points, extremes.down, -1, grid);
}

}  // namespace sesame::workload
