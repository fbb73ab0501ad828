// One box of the grid with everything that is stored at its points. A rank has one or several.
// Local indices begin at 0; ghost points, copies of neighbours' points, lie outside 0 to size - 1.
#ifndef WORKLOADS_NPB_CFD_SUBDOMAIN_H_
#define WORKLOADS_NPB_CFD_SUBDOMAIN_H_

#include <algorithm>
#include <array>
#include <vector>

#include "npb/cfd/equations.h"

namespace sesame::workload::cfd {

using Index = std::array<int, 3>;

// Where points are in an array: the first direction is contiguous.
struct Layout {
  std::array<long, 3> stride;
  long origin;  // of point (0, 0, 0)
  long points;  // with ghosts

  Layout(const Index& size, int ghosts) {
    stride = {1, size[0] + 2L * ghosts, (size[0] + 2L * ghosts) * (size[1] + 2L * ghosts)};
    origin = ghosts * (stride[0] + stride[1] + stride[2]);
    points = stride[2] * (size[2] + 2L * ghosts);
  }
  long at(int i, int j, int k) const {
    return origin + i * stride[0] + j * stride[1] + k * stride[2];
  }
};

// Quantities derived from a state that are used more than once.
struct Flow {
  double velocity[3];
  double kinetic;  // half the square of the velocity
  double pressure;
  double energy;  // per mass
  double volume;  // per mass: 1 / density
  double sound;   // speed of sound; set only by update_flow(…, true)
};

struct Subdomain {
  static constexpr int kGhosts = 2;  // as far as a fourth difference reaches

  // `residual_ghosts`: layers of neighbours' residuals that the solver needs.
  Subdomain(int grid, const Index& layer, const Index& begin, const Index& size,
            int residual_ghosts);

  // Local indices of the points that are not on the boundary of the cube, for one direction.
  int inner_begin(int d) const { return std::max(0, 1 - begin[d]); }
  int inner_end(int d) const { return std::min(size[d], grid - 1 - begin[d]); }

  // The unit cube's coordinate of local index `i`.
  double coordinate(int d, int i) const { return (begin[d] + i) / double(grid - 1); }

  int grid;     // points a side of the whole cube
  Index layer;  // of subdomains that it is in, for each direction
  Index begin;  // grid index of local index 0
  Index size;
  Layout state_at, residual_at;
  std::vector<double> state;     // kStates a point, at state_at
  std::vector<Flow> flow;        // at state_at, one layer of ghosts filled
  std::vector<double> residual;  // kStates a point, at residual_at; 0 on the boundary of the cube
  std::vector<double> forcing;   // like residual
};

// state = exact solution on the boundary, transfinite interpolation of it inside (specification,
// 3.2.1, initial and boundary conditions).
void set_initial_state(Subdomain& subdomain);

// The forcing that makes the exact solution stationary. Uses state, flow and residual.
void set_forcing(Subdomain& subdomain);

// flow from state, ghosts of one layer included.
void update_flow(Subdomain& subdomain, bool with_sound);

// residual = scale * (forcing + the spatial operator applied to the state), inside the cube.
void update_residual(Subdomain& subdomain, double scale);

// state += factor * residual, inside the cube.
void add_residual(Subdomain& subdomain, double factor);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_CFD_SUBDOMAIN_H_
