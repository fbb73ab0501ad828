// What Open MPI's own split types (OMPI_COMM_TYPE_CORE and the like) mean on a machine model, whose
// nodes have cores and nothing between: values of the argument of Comm_split_type() besides those
// of the standard.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

inline constexpr int kSplitByCore = 1000;  // each rank alone
inline constexpr int kSplitByNode = MPI_COMM_TYPE_SHARED;

}  // namespace sesame::mpi
