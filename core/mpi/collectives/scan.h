// MPI_Scan and MPI_Exscan: the reduction of the vectors of all ranks up to the own one, inclusive
// or exclusive: by recursive doubling, as in MPICH, or from rank to rank, as in Open MPI
// (ompi/mca/coll/basic/coll_basic_scan.c of its source). Intra-communicators only.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

enum class ScanKind { kInclusive, kExclusive };

// `send` may be MPI_IN_PLACE. An exclusive scan does not write the receive buffer of rank 0.
void scan_doubling(Transfer& transfer, ScanKind kind, const void* send, void* receive,
                   const Reduction& reduction);
void scan_linear(Transfer& transfer, ScanKind kind, const void* send, void* receive,
                 const Reduction& reduction);

}  // namespace sesame::mpi::collectives
