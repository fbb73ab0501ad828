// Handles of groups: finding the object of a handle and making a new one. Errors are MPI error
// classes with a detail (errors.h).
#pragma once

#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct ObjectOwner;

// MPI_SUCCESS and the object, or MPI_ERR_GROUP with a detail.
int check_group(Group handle, GroupObject** group);
// Adds a group to the rank's table and returns its handle; MPI_GROUP_EMPTY when it has no members.
Group publish_group(ObjectOwner& owner, MembersRef members);

}  // namespace sesame::mpi
