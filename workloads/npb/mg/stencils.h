// The four operations of the multigrid cycle on one rank's block (NPB specification, RNR-94-007,
// kernel MG). They read ghost points and, but for `interpolate`, leave those of their result alone.
#ifndef WORKLOADS_NPB_MG_STENCILS_H_
#define WORKLOADS_NPB_MG_STENCILS_H_

#include <array>

#include "npb/mg/domain.h"

namespace sesame::workload {

// Weights of a point itself, and of the neighbours it shares a face, an edge, a corner with.
using Weights = std::array<double, 4>;

// residual = right - A u; `residual` and `right` may be the same grid.
void subtract_laplacian(const Grid& u, const Grid& right, Grid& residual);
// u += S residual, the weight of corners being zero.
void smooth(const Weights& weights, const Grid& residual, Grid& u);
// coarse = P fine.
void restrict_to(const Grid& fine, Grid& coarse);
// fine += Q coarse, its ghosts included.
void interpolate(const Grid& coarse, Grid& fine);

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_MG_STENCILS_H_
