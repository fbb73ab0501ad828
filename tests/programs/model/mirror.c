/* Each rank sends 1 MiB to a neighbour without waiting, works for 10 ms, sends a byte to it, and
 * then waits; prints how long each rank's receive of the 1 MiB took, in the order of ranks.
 *
 *   mirror up|down     # to the next or the previous rank
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1 << 20 };

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int step = argc > 1 && strcmp(argv[1], "down") == 0 ? -1 : 1;
  const int place = step > 0 ? rank : ranks - 1 - rank; /* along the direction */
  char* out = calloc(kBytes, 1);
  char* in = calloc(kBytes, 1);
  char byte = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  double time = 0;
  if (place < ranks - 1) {
    MPI_Isend(out, kBytes, MPI_CHAR, rank + step, 0, MPI_COMM_WORLD, &request);
    if (place % 2 == 0) usleep(10000);
    MPI_Send(&byte, 1, MPI_CHAR, rank + step, 1, MPI_COMM_WORLD);
  }
  if (place > 0) {
    time = MPI_Wtime();
    MPI_Recv(in, kBytes, MPI_CHAR, rank - step, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    time = MPI_Wtime() - time;
    MPI_Recv(&byte, 1, MPI_CHAR, rank - step, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  double* times = malloc((size_t)ranks * sizeof *times);
  MPI_Gather(&time, 1, MPI_DOUBLE, times, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < ranks; ++i) printf("rank %d: %.12f s\n", i, times[i]);
  MPI_Finalize();
  return 0;
}
