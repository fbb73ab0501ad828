/* The MPI hooks for MPICH and libraries with its binary interface. */
#include "mpi_mpich.h"

#include "mpi_hooks.inc"
