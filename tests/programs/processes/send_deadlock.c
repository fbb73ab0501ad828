// Each of two ranks sends 900 bytes to the other before it receives, and says when it has sent.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  char out[900] = "", in[900];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Send(out, sizeof out, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
  puts("sent");
  fflush(stdout);
  MPI_Recv(in, sizeof in, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
