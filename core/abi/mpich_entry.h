// Translation of arguments for the generated entry points of the MPICH interface. Sesame uses
// MPICH's handles, constants and statuses, so little is translated.
#pragma once

#include "core/abi/narrow.h"
#include "core/mpi/api.h"

namespace sesame::abi {

// The handle in a variable of the program, 0 (no object) if there is no variable.
template <typename Handle>
Handle object_at(const Handle* handle) {
  return handle == nullptr ? Handle{} : *handle;
}

// MPI_UNWEIGHTED of the module mpi_f08 is null: MPICH's C library gives it its value at MPI_Init,
// in a variable that here is the rank's own. No other list of weights that has any may be null.
template <typename Pointer>
Pointer weights_in(Pointer weights, int size) {
  return weights == nullptr && size > 0 ? MPI_UNWEIGHTED : weights;
}

}  // namespace sesame::abi
