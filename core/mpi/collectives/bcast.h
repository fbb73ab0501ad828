// MPI_Bcast: the root's buffer to all ranks. bcast() chooses the algorithm as MPICH (thresholds.h)
// or Open MPI does (open_mpi_rules.h) and returns an MPI error class.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

void bcast_binomial(Transfer& transfer, const Target& buffer, int root);
// The root sends to all other ranks at once.
void bcast_linear(Transfer& transfer, const Target& buffer, int root);
// From rank to rank in segments of about `segment_bytes`. For at least one element.
void bcast_pipeline(Transfer& transfer, const Target& buffer, int root, Count segment_bytes);
// Each half of the data down one side of a binary tree (binary_place() in tree.h); then pairs of
// ranks, one of each side, exchange their halves. For at least two elements and ranks.
void bcast_split_binary(Transfer& transfer, const Target& buffer, int root);
// Scatter `bytes` bytes in p chunks by a binomial tree, then allgather them: by recursive doubling
// (p must be a power of two) or around a ring. Intra-communicators only.
void bcast_scatter_doubling(Transfer& transfer, char* data, Count bytes, int root);
void bcast_scatter_ring(Transfer& transfer, char* data, Count bytes, int root);

// `root` as in MPI: in an inter-communicator the root's group passes MPI_ROOT or MPI_PROC_NULL.
int bcast(Transfer& transfer, const Target& buffer, int root);

}  // namespace sesame::mpi::collectives
