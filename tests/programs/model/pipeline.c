/* A pipeline: each rank takes five items from the one before it, computes for some milliseconds of
 * the host's time with each, and passes it on. */
#include <mpi.h>
#include <stdio.h>

static void compute(void) {
  volatile double sum = 0;
  for (int i = 1; i < 1000000; ++i) sum += 1.0 / i;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int item = 0; item < 5; ++item) {
    int value = item;
    if (rank > 0)
      MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute();
    if (rank < size - 1) MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    printf("rank %d, item %d\n", rank, value);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
