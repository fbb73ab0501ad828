/* Rank 1 polls for a message that rank 0 sends after one second, and counts its polls. Prints the
 * polls and the seconds. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, done = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    sleep(1);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    long polls = 0;
    const double begin = MPI_Wtime();
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    for (; !done; ++polls) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    printf("%ld %.9f\n", polls, MPI_Wtime() - begin);
  }
  MPI_Finalize();
}
