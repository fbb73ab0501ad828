// The rank's clock as the program sees it, for MPI_Wtime and for the C library's clocks.
#pragma once

#include "core/base/units.h"

namespace sesame::mpi {

// Simulated time since the job began, compute time charged; costs what reading a clock costs.
SimTime read_clock();
// The running strand does nothing for so long.
void sleep_for(SimTime duration);

}  // namespace sesame::mpi
