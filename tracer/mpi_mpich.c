/* The MPI hooks for MPICH and its kin. */
#include "mpi_mpich.h"

#include "mpi_hooks.inc"
