// Making communicators with a process topology (MPI 4.1, chapter 8). Functions that return int
// check their arguments and return MPI error classes.
#pragma once

#include <memory>
#include <span>

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/topology.h"

namespace sesame::mpi {

struct CommObject;

// The communicator of a handle and its Cartesian topology, or MPI_ERR_TOPOLOGY.
int check_cartesian(Comm handle, CommObject** comm, const CartesianTopology** topology);

// Makes a communicator of the first `ranks` ranks of the parent with this topology. Does not change
// *newcomm on the other ranks. Collective over the parent.
int create_with_topology(CommObject& parent, int ranks, std::unique_ptr<Topology> topology,
                         Comm* newcomm);
// The communicator of a handle, which must be an intra-communicator.
int check_parent(Comm handle, CommObject** comm);

// MPI_Dims_create: replaces the entries that are 0, largest first, so that the product is `nodes`.
// As in MPICH, the difference between the largest and the smallest new entry is as small as
// possible; among solutions with this difference the smallest entry is as great as possible. False
// if the product of the fixed entries does not divide `nodes`.
bool create_dims(int nodes, std::span<int> dims);

}  // namespace sesame::mpi
