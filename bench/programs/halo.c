/* A 2-D halo exchange of 8-byte messages with the four neighbours on a torus.
 * Usage: halo [iterations] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  int neighbour[4];
  MPI_Cart_shift(grid, 0, 1, &neighbour[0], &neighbour[1]);
  MPI_Cart_shift(grid, 1, 1, &neighbour[2], &neighbour[3]);
  const int iterations = argc > 1 ? atoi(argv[1]) : 1000;
  double out[4], in[4], sum = 0;
  for (int i = 0; i < iterations; i++) {
    MPI_Request requests[8];
    for (int k = 0; k < 4; k++) {
      out[k] = rank + i;
      MPI_Irecv(&in[k], 1, MPI_DOUBLE, neighbour[k], k ^ 1, grid, &requests[k]);
    }
    for (int k = 0; k < 4; k++)
      MPI_Isend(&out[k], 1, MPI_DOUBLE, neighbour[k], k, grid, &requests[4 + k]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 4; k++) sum += in[k] - neighbour[k] - i;
  }
  double total = 1;
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
  if (rank == 0)
    printf("halo on %d x %d ranks, %d iterations: %s\n", dims[0], dims[1], iterations,
           total == 0 ? "correct" : "WRONG");
  MPI_Finalize();
  return rank == 0 && total != 0;
}
