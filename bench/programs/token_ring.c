/* Ranks write in turns: the rank that holds the token writes 4 KiB to a file of its own and
 * syncs it to the disk. Each write waits for that of another rank, so a prediction for another
 * file system needs the order between ranks. Arguments: rounds, computation in
 * microseconds before each write, directory. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void compute(double seconds) {
  double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rounds = atoi(argv[1]);
  const double work = 1e-6 * atof(argv[2]);
  int rank, ranks, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096], data[4096] = {1};
  snprintf(path, sizeof path, "%s/ring.%d", argv[3], rank);
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < rounds; ++i) {
    if (i + rank > 0) {
      MPI_Recv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    compute(work);
    if (pwrite(fd, data, sizeof data, 4096L * i) < 0 || fsync(fd) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    if (i + 1 < rounds || rank + 1 < ranks) {
      MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    }
  }
  close(fd);
  unlink(path);
  MPI_Finalize();
  return 0;
}
