/* A manager hands out work to the worker that asks first: receives from any source, probes, tests. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int jobs = 200;
  if (rank == 0) {
    int given = 0, ended = 0;
    unsigned long order = 0;
    while (ended < size - 1) {
      int result, job;
      MPI_Status status;
      MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      order = order * 31 + status.MPI_SOURCE;
      job = given < jobs ? given++ : -1;
      ended += job < 0;
      MPI_Send(&job, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    printf("%d jobs in order %lu\n", given, order);
  } else {
    int result = -1, job = 0;
    while (job >= 0) {
      MPI_Send(&result, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
      MPI_Request request;
      MPI_Irecv(&job, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
      int done = 0;
      while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      result = job * job;
    }
  }
  MPI_Finalize();
  return 0;
}
