// Making communicators with a process topology.
#pragma once

#include <memory>
#include <span>

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/topology.h"

namespace sesame::mpi {

// An intra-communicator and its topology of this kind, or MPI_ERR_TOPOLOGY.
int check_cartesian(Comm handle, CommObject** comm, const CartesianTopology** topology);

// Gives the first `ranks` ranks of the parent a new communicator with this topology and leaves
// *newcomm of the others as it is. Collective over the parent.
int create_with_topology(CommObject& parent, int ranks, std::unique_ptr<Topology> topology,
                         Comm* newcomm);
// An intra-communicator to make a topology on.
int check_parent(Comm handle, CommObject** comm);

// MPI_Dims_create on plain values: fills the entries that are 0, largest first, so that the product
// is `nodes`. Balanced as MPICH has it: the least difference between the largest and the smallest,
// then the greatest smallest one. False when the fixed entries do not divide `nodes`.
bool create_dims(int nodes, std::span<int> dims);

}  // namespace sesame::mpi
