/* Allreduce of 8 bytes and Alltoall of 64 bytes per pair.
 * Usage: collectives [allreduces [alltoalls]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int allreduces = argc > 1 ? atoi(argv[1]) : 100, alltoalls = argc > 2 ? atoi(argv[2]) : 10;
  for (int i = 0; i < allreduces; i++) {
    double mine = rank + i, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    wrong |= sum != size * (size - 1) / 2.0 + (double)i * size;
  }
  long *out = malloc(sizeof(long) * 8 * size), *in = malloc(sizeof(long) * 8 * size);
  for (int i = 0; i < alltoalls; i++) {
    for (int k = 0; k < 8 * size; k++) out[k] = rank * 1000000L + k;
    MPI_Alltoall(out, 8, MPI_LONG, in, 8, MPI_LONG, MPI_COMM_WORLD);
    for (int k = 0; k < 8 * size; k++) wrong |= in[k] != k / 8 * 1000000L + rank * 8 + k % 8;
  }
  int any_wrong;
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("collectives on %d ranks: %s\n", size, any_wrong ? "WRONG" : "correct");
  free(out);
  free(in);
  MPI_Finalize();
  return any_wrong;
}
