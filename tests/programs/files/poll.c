/* Computes while an asynchronous write is in progress, and tests it after each slice of computation.
   Prints the number of slices and the time of the write by the program's own clock. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double sink;

static long steps_per_second(void) {
  const long steps = 20000000;
  const double begin = cpu_seconds();
  for (long i = 0; i < steps; ++i) sink += 1;
  return (long)((double)steps / (cpu_seconds() - begin));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const size_t size = strtoul(argv[1], NULL, 10);
  const long slice = (long)(strtod(argv[2], NULL) * (double)steps_per_second());
  char* data = calloc(size, 1);
  const int fd = open("polled", O_CREAT | O_RDWR, 0600);
  struct aiocb request = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = size};
  int slices = 0;
  const double begin = MPI_Wtime();
  if (aio_write(&request) != 0) return 1;
  while (aio_error(&request) == EINPROGRESS && slices < 200) {
    for (long i = 0; i < slice; ++i) sink += 1;
    ++slices;
  }
  printf("elapsed %.9g\n", MPI_Wtime() - begin);
  printf("slices %d\n", slices);
  if (aio_return(&request) != (ssize_t)size) return 2;
  MPI_Finalize();
  return 0;
}
