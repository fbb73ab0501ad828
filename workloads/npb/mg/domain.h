// Periodic three-dimensional grids, shared out to ranks in blocks with one layer of ghost points.
#ifndef WORKLOADS_NPB_MG_DOMAIN_H_
#define WORKLOADS_NPB_MG_DOMAIN_H_

#include <array>
#include <vector>

namespace sesame::workload {

// One rank's block of a grid; x runs fastest. Point (x, y, z) of the block, counted from 1, is at
// x + row * y + plane * z; 0 and the extent + 1 are ghosts.
struct Grid {
  Grid() = default;
  explicit Grid(std::array<int, 3> extents);

  long at(int x, int y, int z) const { return x + row * y + plane * z; }

  std::array<int, 3> extent{};
  long row = 0, plane = 0;
  std::vector<double> values;
};

// How ranks share a grid: dims[axis] ranks along each axis, x first.
class Domain {
 public:
  // All ranks of MPI_COMM_WORLD; their number is a power of two.
  static Domain of_all_ranks();
  // This rank alone has the whole grid.
  static Domain of_one_rank();

  // Fills the ghost points from the neighbours' points.
  void exchange(Grid& grid);

  // The grid of 2^level points along each axis: this rank's block.
  Grid block(int level) const;
  // Where this rank's block begins, for blocks of this extent.
  int begin(int axis, int extent) const { return coordinates_[axis] * extent; }
  int most_ranks_of_an_axis() const { return dims_[2]; }

  // All blocks together, on every rank; from a grid whose ghosts need not be filled.
  void gather(const Grid& mine, Grid& whole) const;

 private:
  using Coordinates = std::array<int, 3>;

  Domain(Coordinates dims, int rank);
  Coordinates coordinates_of(int rank) const;
  int rank_of(Coordinates coordinates) const;

  Coordinates dims_, coordinates_;
  std::array<int, 3> lower_, upper_;  // neighbours
  std::vector<double> sent_, received_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_MG_DOMAIN_H_
