/* Nothing but small prints and small messages: the worst case for a tracer. Rank 0 prints a line
 * of 50 bytes after every message; the ranks of each pair send one number back and forth. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 500000;
  int rank, ranks;
  double value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  FILE* log = fopen(argc > 2 ? argv[2] : "/dev/null", "w");
  int peer = rank ^ 1;
  if (peer < ranks) {
    for (long i = 0; i < rounds; ++i) {
      if (rank < peer) {
        MPI_Send(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value += 1;
        MPI_Send(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
      }
      if (rank == 0) fprintf(log, "step %10ld of %10ld: the value is %9.1f\n", i, rounds, value);
    }
  }
  fclose(log);
  MPI_Finalize();
  return 0;
}
