// Computes for a while. Rank 0 adds a line to the file of its argument: as many lines as there are
// runs.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    FILE* file = fopen(argv[1], "a");
    fprintf(file, "run\n");
    fclose(file);
    printf("one run\n");
  }
  volatile double sum = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 3000000; ++i) sum += i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
