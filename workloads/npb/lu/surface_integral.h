// LU's third answer (NPB specification, RNR-94-007, 3.4.2): the pressure integrated over the faces
// of a box within the cube, by the trapezoidal rule.
#ifndef WORKLOADS_NPB_LU_SURFACE_INTEGRAL_H_
#define WORKLOADS_NPB_LU_SURFACE_INTEGRAL_H_

#include "npb/cfd/domain.h"

namespace sesame::workload::cfd {

// Collective; flow must be that of the state.
double surface_integral(const Domain& domain);

}  // namespace sesame::workload::cfd

#endif  // WORKLOADS_NPB_LU_SURFACE_INTEGRAL_H_
