// The communicators that the program does not make: MPI_COMM_WORLD, MPI_COMM_SELF, and an internal
// one of all ranks of the run. The rank owns them.
#pragma once

#include "core/mpi/messages/transfer.h"

namespace sesame::mpi {

struct Rank;

// Makes MPI_COMM_WORLD and MPI_COMM_SELF of the rank, unless they exist.
void create_world_communicators(Rank& rank);

// Messages among all ranks of the run, addressed by their numbers in the run, for ranks that have
// no communicator in common yet. Each exchange needs its own tag.
Transfer universe_transfer(Rank& rank, int tag);

// For MPI_Finalize: deletes the attributes of MPI_COMM_SELF, the one set last first. Returns the
// error of a delete function that failed.
int delete_self_attributes(Rank& rank);

}  // namespace sesame::mpi
