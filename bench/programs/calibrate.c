/* What two ranks need for messages of each size, for bench/accuracy.py: half the round trip, and
 * the time for each message of a stream of small ones.  Prints "SIZE SECONDS" and "stream SECONDS".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double half_round_trip(char *data, int size, int trips, int rank) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < trips; i++) {
    if (rank == 0) {
      MPI_Send(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) / trips / 2;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *data = calloc(1, 4 << 20);
  for (int size = 1; size <= 4 << 20; size *= 4) {
    double best = 1e9;
    for (int repeat = 0; repeat < 15; repeat++) {
      const double time = half_round_trip(data, size, size > 65536 ? 20 : 400, rank);
      best = time < best ? time : best;
    }
    if (rank == 0) printf("%d %.6g\n", size, best);
  }
  double best = 1e9;
  for (int repeat = 0; repeat < 15; repeat++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < 1000; i++) {
      if (rank == 0) MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      else MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double time = (MPI_Wtime() - begin) / 1000;
    best = time < best ? time : best;
  }
  if (rank == 0) printf("stream %.6g\n", best);
  free(data);
  MPI_Finalize();
  return 0;
}
