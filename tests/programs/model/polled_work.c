/* Rank 0 polls for a message that comes at the end, with a little work between polls, as HPC
 * Challenge's RandomAccess does. Prints what it found, the seconds that the polls took and the
 * result of the work.
 * Usage: polled_work POLLS */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const int polls = argc > 1 ? atoi(argv[1]) : 3000;
  int rank, done = 0, found = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    uint64_t random = 1;
    MPI_Irecv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    const double begin = MPI_Wtime();
    for (int poll = 0; poll < polls; ++poll) {
      random = random << 1 ^ (random >> 63 != 0 ? 7 : 0);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      found += done;
    }
    printf("%d %.9f %llu\n", found, MPI_Wtime() - begin, (unsigned long long)random);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
