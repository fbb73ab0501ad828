// MPI_Bcast: the root's buffer to all.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

void bcast_binomial(Transfer& transfer, const Target& buffer, int root);
// A binomial tree scatters `bytes` bytes in p pieces, an allgather brings them together again: by
// recursive doubling (p a power of two) or round the ring.
void bcast_scatter_doubling(Transfer& transfer, char* data, Count bytes, int root);
void bcast_scatter_ring(Transfer& transfer, char* data, Count bytes, int root);

// In an inter-communicator the root's group passes MPI_ROOT or MPI_PROC_NULL.
int bcast(Transfer& transfer, const Target& buffer, int root);

}  // namespace sesame::mpi::collectives
