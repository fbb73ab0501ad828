/* Heat on a square plate: explicit finite differences on an n x n grid, cut into row blocks.
 * Neighbours exchange their edge rows every step; every 50 steps all agree on the largest change.
 *
 *   heat [n [steps]]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 200;
  const int first = (int)((long)n * rank / size), rows = (int)((long)n * (rank + 1) / size) - first;
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

  double *now = calloc((size_t)(rows + 2) * n, sizeof *now);
  double *next = calloc((size_t)(rows + 2) * n, sizeof *next);
  if (rank == 0) /* the upper edge is hot */
    for (int j = 0; j < n; j++) now[j] = next[j] = 100.0;

  const double begin = MPI_Wtime();
  double change = 0;
  for (int step = 1; step <= steps; step++) {
    MPI_Request requests[4];
    MPI_Irecv(now, n, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(now + (size_t)(rows + 1) * n, n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(now + n, n, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(now + (size_t)rows * n, n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
      for (int j = 0; j < n; j++) now[j] = 100.0;

    double largest = 0;
    for (int i = 1; i <= rows; i++) {
      const double *c = now + (size_t)i * n;
      double *out = next + (size_t)i * n;
      for (int j = 1; j < n - 1; j++) {
        out[j] = c[j] + 0.2 * (c[j - 1] + c[j + 1] + c[j - n] + c[j + n] - 4 * c[j]);
        const double d = fabs(out[j] - c[j]);
        largest = d > largest ? d : largest;
      }
    }
    double *swap = now;
    now = next;
    next = swap;
    if (step % 50 == 0)
      MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }

  double heat = 0, total;
  for (int i = 1; i <= rows; i++)
    for (int j = 0; j < n; j++) heat += now[(size_t)i * n + j];
  MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double elapsed = MPI_Wtime() - begin;
  if (rank == 0)
    printf("%d ranks, %d x %d, %d steps: heat %.6f, last change %.3e, %.4f s\n", size, n, n, steps,
           total, change, elapsed);
  free(now);
  free(next);
  MPI_Finalize();
  return 0;
}
