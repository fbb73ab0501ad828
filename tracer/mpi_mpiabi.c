/* The MPI hooks for the interface of the MPI 5 standard. */
#include "mpi_mpiabi.h"

#include "mpi_hooks.inc"
