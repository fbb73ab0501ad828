// The right-hand side of NPB kernel MG (NPB specification, RNR-94-007): a field of random
// numbers gives the places; 1 where it is largest and -1 where it is smallest, at ten points each.
#ifndef WORKLOADS_NPB_MG_CHARGES_H_
#define WORKLOADS_NPB_MG_CHARGES_H_

#include "npb/mg/domain.h"

namespace sesame::workload {

// `points` along each axis of the whole grid. Collective; leaves the ghosts alone.
void place_charges(const Domain& domain, int points, Grid& grid);

}  // namespace sesame::workload

#endif  // WORKLOADS_NPB_MG_CHARGES_H_
