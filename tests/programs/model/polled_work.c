/* Rank 0 polls 3,000 times for a message that comes at the end, with a little work between polls,
 * as HPC Challenge's RandomAccess does. Prints the seconds that the polls took. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, done = 0, found = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Irecv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    const double begin = MPI_Wtime();
    for (int poll = 0; poll < 3000; ++poll) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      found += done;
    }
    printf("%d %.9f\n", found, MPI_Wtime() - begin);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
