// MPI_Alltoall: a block of one size from each rank to each rank. alltoall() chooses the algorithm
// as MPICH (thresholds.h) or Open MPI does (open_mpi_rules.h) and returns an MPI error class.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

// Store and forward in ceil(log2 p) rounds of half the data each (Bruck et al. 1997). Counts are
// those of one block; the source must not be MPI_IN_PLACE. Intra-communicators only.
void alltoall_bruck(Transfer& transfer, const Source& out, const Target& in);
// The source may be MPI_IN_PLACE.
int alltoall(Transfer& transfer, const Source& out, const Target& in);

}  // namespace sesame::mpi::collectives
