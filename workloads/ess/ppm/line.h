// One line of cells, advanced by a time step with the piecewise parabolic method: P. Colella and
// P. Woodward: The Piecewise Parabolic Method (PPM) for Gas-Dynamical Simulations, Journal of
// Computational Physics 54, 1984. Parabolas in each cell (1.6 to 1.10), flattened at shocks
// (appendix), are followed along the characteristics; an approximate Riemann solver (HLLC) makes
// fluxes of the states on both sides of a face.
#ifndef WORKLOADS_ESS_PPM_LINE_H_
#define WORKLOADS_ESS_PPM_LINE_H_

#include <vector>

#include "ess/ppm/gas.h"

namespace sesame::workload {

constexpr int kGhosts = 4;  // cells beyond each end that the stencil needs

class Line {
 public:
  explicit Line(int cells);

  // Cell i is cells()[i + kGhosts]; the caller fills in ghosts, too.
  std::vector<Conserved>& cells() { return cells_; }

  // Advances by one step; `ratio`: time step / cell size. Ghosts are invalid afterwards.
  void advance(double ratio);

 private:
  struct Parabola {
    double left, right, curvature;
  };

  void find_parabolas(int component);
  void find_flattening();
  // The average of the parabola over the part that reaches the face in a time step at this speed.
  static double reaching_right(const Parabola& parabola, double share);
  static double reaching_left(const Parabola& parabola, double share);
  void trace(int cell, double ratio);

  int count_;
  std::vector<Conserved> cells_;
  std::vector<Gas> gas_;
  std::vector<double> values_, slopes_, flattening_, steepness_;
  std::vector<std::array<Parabola, 4>> parabolas_;
  std::vector<Gas> at_left_, at_right_;  // states at both ends of each cell
  std::vector<Conserved> fluxes_;        // through the face left of each cell
};

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_PPM_LINE_H_
