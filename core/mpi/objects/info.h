// Handles of MPI_Info: finding the object of a handle and making a new one.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/info_object.h"

namespace sesame::mpi {

struct ObjectOwner;

// The object of a handle (also of MPI_INFO_ENV); null for MPI_INFO_NULL and for handles of no info.
InfoObject* find_info(ObjectOwner& owner, Info handle);
// An error unless the handle is MPI_INFO_NULL or a valid info. *info is null for MPI_INFO_NULL.
int check_info(Info handle, InfoObject** info);
// Makes a copy of `contents` (null: empty) and returns its handle for the program.
Info publish_info(ObjectOwner& owner, const InfoObject* contents);

}  // namespace sesame::mpi
