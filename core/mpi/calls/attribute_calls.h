// The attributes of datatypes, for MPI_Type_dup and MPI_Type_free. Both call the program's copy and
// delete callbacks, and return an MPI error class or the error code of such a callback.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Rank;

int copy_type_attributes(Rank& rank, Datatype from, Datatype to);
int delete_type_attributes(Rank& rank, Datatype datatype);

}  // namespace sesame::mpi
