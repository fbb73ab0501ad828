// Groups as values: finding the object of a handle and giving the program a new one.
#pragma once

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct ObjectOwner;

// MPI_SUCCESS and the object, or MPI_ERR_GROUP with a detail.
int check_group(Group handle, GroupObject** group);
// MPI_GROUP_EMPTY when there are no members.
Group publish_group(ObjectOwner& owner, MembersRef members);

// MPI_ERR_ARG with a detail when an address for a result is null.
int check_out(const void* address, const char* what);

}  // namespace sesame::mpi
