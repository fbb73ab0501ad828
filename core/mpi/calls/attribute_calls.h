// The attributes of datatypes, for MPI_Type_dup and MPI_Type_free. Both return MPI error classes,
// or the code of an error that the program added.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct Rank;

int copy_type_attributes(Rank& rank, Datatype from, Datatype to);
int delete_type_attributes(Rank& rank, Datatype datatype);

}  // namespace sesame::mpi
