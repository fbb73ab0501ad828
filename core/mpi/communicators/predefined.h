// The communicators that exist without being made by the program.
#pragma once

#include "core/mpi/messages/transfer.h"

namespace sesame::mpi {

struct Rank;

// Makes MPI_COMM_WORLD and MPI_COMM_SELF of the rank, if they are not there yet.
void create_world_communicators(Rank& rank);

// Messages among all ranks of the run by their numbers, for those that have no communicator in
// common yet. The tag keeps the exchanges apart.
Transfer universe_transfer(Rank& rank, int tag);

// What MPI_Finalize does first: deletes the attributes of MPI_COMM_SELF, the last one set first.
// Returns the error of a delete function.
int delete_self_attributes(Rank& rank);

}  // namespace sesame::mpi
