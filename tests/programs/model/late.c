/* Rank 0 sleeps, then sends; then rank 1 sleeps, and rank 0 sends to it by rendezvous.
   usage: late EAGER_BYTES RENDEZVOUS_BYTES MICROSECONDS */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int eager = atoi(argv[1]), rendezvous = atoi(argv[2]);
  const useconds_t pause = (useconds_t)atoi(argv[3]);
  char* buffer = calloc(1, (size_t)rendezvous);
  if (rank == 0) {
    usleep(pause);
    MPI_Send(buffer, eager, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Send(buffer, rendezvous, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    usleep(10 * pause);
  } else {
    MPI_Recv(buffer, eager, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(pause);
    MPI_Recv(buffer, rendezvous, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 4) usleep(100 * pause);
  }
  MPI_Finalize();
  return 0;
}
