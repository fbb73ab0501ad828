/* Stands for the pseudo application of Banerjee, MPIOR, 2012, 3.1: ranks read and write one file
 * with pread and pwrite, compute between, and call a barrier after each such operation. First
 * all rounds write, each rank a block of its own in each round; then all rounds read what the next
 * rank wrote. Written data is synced to the disk: a shared file system would send it to its server,
 * but a local one would only keep it in memory.
 * Arguments: rounds, thousands of arithmetic operations per round, bytes per block, directory. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arithmetic.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long rounds = atol(argv[1]), work = atol(argv[2]), size = atol(argv[3]);
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096];
  char* block = calloc(1, size);
  snprintf(path, sizeof path, "%s/pseudo", argv[4]);
  int file = open(path, O_CREAT | O_RDWR, 0644);
  if (file < 0 || block == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  double value = 0;
  for (long round = 0; round < rounds; ++round) {
    value = arithmetic(value, work);
    block[0] = (char)value;
    long done = pwrite(file, block, size, (round * ranks + rank) * size);
    if (done != size || fdatasync(file) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (long round = 0; round < rounds; ++round) {
    value = arithmetic(value, work);
    long place = (round * ranks + (rank + 1) % ranks) * size;
    if (pread(file, block, size, place) != size) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close(file);
  if (rank == 0) printf("%g\n", value);
  MPI_Finalize();
  return 0;
}
