// MPI_Alltoall: a block of one size from everyone to everyone.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Store and forward in ceil(log2 p) rounds of half the data each (Bruck et al. 1997). Counts are
// those of one block; the source may not be MPI_IN_PLACE.
void alltoall_bruck(Transfer& transfer, const Source& out, const Target& in);
// The source may be MPI_IN_PLACE.
int alltoall(Transfer& transfer, const Source& out, const Target& in);

}  // namespace sesame::mpi::collectives
