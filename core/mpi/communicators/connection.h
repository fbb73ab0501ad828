// Inter-communicators between groups that share no communicator: one accepts at a port that its
// root has opened, the other connects to it (MPI 4.1, section 11.8). A spawn connects parents and
// children in the same way. The roots exchange simulated messages, then tell their groups.
#pragma once

#include <string>

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Rank;
struct RequestObject;

enum class PortUse { kAccept, kConnect };

// Collective over `comm`. The port counts on the root only; -1 there: it names no port.
int join_at_port(CommObject& comm, int root, int port, PortUse use, CommObject** newcomm);

// MPI_Init of a spawned rank: connects its MPI_COMM_WORLD with those who spawned it.
int connect_to_parents(Rank& rank);

int check_root(const CommObject& comm, int root);

// " waits for …" if the request belongs to such an exchange, or empty.
std::string describe_connection(const Rank& rank, const RequestObject& request);

}  // namespace sesame::mpi
