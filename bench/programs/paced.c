/* Many short computations, each followed by a small write, to measure how exactly a replay
 * reproduces the time of computation. Each rank writes to its own file; every hundred steps all
 * ranks call a barrier. Arguments: steps, directory. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arithmetic.h"

enum { kThousands = 150, kBarrierInterval = 100 }; /* some 0.4 ms of computation */

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long steps = atol(argv[1]);
  int rank;
  double value = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096], data[4096] = {1};
  snprintf(path, sizeof path, "%s/paced.%d", argv[2], rank);
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (long i = 0; i < steps; ++i) {
    value = arithmetic(value, kThousands);
    if (pwrite(fd, data, sizeof data, 4096 * i) != sizeof data) MPI_Abort(MPI_COMM_WORLD, 1);
    if (i % kBarrierInterval == 0) {
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
  }
  close(fd);
  if (rank == 0) printf("%g\n", value);
  unlink(path);
  MPI_Finalize();
  return 0;
}
