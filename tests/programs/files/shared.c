/* Rank 0 makes a file on a shared and on a local file system; does rank 1 see them? */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    close(open("/pfs/file", O_CREAT | O_WRONLY, 0600));
    close(open("/local/file", O_CREAT | O_WRONLY, 0600));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    printf("shared %d\n", access("/pfs/file", F_OK) == 0);
    printf("local %d\n", access("/local/file", F_OK) == 0);
  }
  MPI_Finalize();
  return 0;
}
