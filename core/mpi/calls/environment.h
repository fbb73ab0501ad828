// The rank's clock as the program sees it: for MPI_Wtime, and for the C library's clocks and
// sleeps; and how many threads of a rank may call MPI.
#pragma once

#include "core/base/units.h"

namespace sesame::mpi {

// Charges computation and the cost of reading a clock, and returns the simulated time since the
// start of the job.
SimTime read_clock();
// Charges computation, then advances the running strand's clock by `duration`.
void sleep_for(SimTime duration);

// The highest level that MPI_Init_thread grants from now on; MPI_THREAD_SERIALIZED before.
void allow_thread_level(int level);

}  // namespace sesame::mpi
