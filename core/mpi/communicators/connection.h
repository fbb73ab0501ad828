// Inter-communicators between groups that share no communicator: one group accepts at a port that
// its root has opened, the other connects to it (MPI 4.1, section 11.8). A spawn connects parents
// and children in the same way. The roots exchange simulated messages, then broadcast the result in
// their groups. Functions block the running strand and return MPI error classes.
#pragma once

#include <string>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Rank;
struct RequestObject;

enum class PortUse { kAccept, kConnect };

// Collective over `comm`: accepts or connects, and sets *newcomm. `port` is used on the root only.
// -1 means that no port has the name that the program passed, which is an error on all ranks.
int join_at_port(CommObject& comm, int root, int port, PortUse use, CommObject** newcomm);

// For MPI_Init of a spawned rank: connects its MPI_COMM_WORLD with the group that spawned it.
int connect_to_parents(Rank& rank);

// MPI_ERR_ROOT unless the root is a rank of the intra-communicator.
int check_root(const CommObject& comm, int root);

// For deadlock reports: " waits for …" if the request belongs to such a connection, otherwise
// empty.
std::string describe_connection(const Rank& rank, const RequestObject& request);

}  // namespace sesame::mpi
