/* A part of a program that is loaded while it runs, and MPI with it, as Python loads mpi4py. */
#include <mpi.h>

int run(void) {
  int in = 0, out = 1;
  MPI_Init(0, 0);
  MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return in;
}
