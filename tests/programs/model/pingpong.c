/* Half the round trip of messages between ranks 0 and 1.  Usage: pingpong SIZE… */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int k = 1; k < argc; k++) {
    const int size = atoi(argv[k]), trips = 100;
    char *data = calloc(1, size);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < trips; i++) {
      /* The receive is posted before the message comes: no rendezvous waits for it. */
      MPI_Request request;
      if (rank == 0) {
        MPI_Irecv(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Send(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    if (rank == 0) printf("%d %.12g\n", size, (MPI_Wtime() - begin) / trips / 2);
    free(data);
  }
  MPI_Finalize();
  return 0;
}
