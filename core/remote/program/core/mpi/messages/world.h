// Stands in for core/mpi/messages/world.h in the MPI library of a rank that is a process.
#pragma once

#include "core/mpi/messages/rank.h"
