/* A tool in the program: it takes the place of a function of MPI, and calls that by its other name. */
#include <mpi.h>
#include <stdio.h>

static int seen;

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++seen;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int main(int argc, char** argv) {
  int rank, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d: the tool has seen %d calls, the sum is %d\n", rank, seen, sum);
  MPI_Finalize();
  return 0;
}
