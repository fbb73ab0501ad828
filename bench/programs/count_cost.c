/* The time of an MPI call. For each number on stdin it makes that many calls and prints the mean
 * time of one, in ns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double data[2];

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void call(int is_collective) {
  if (is_collective) {
    MPI_Allreduce(data, data + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Send(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  char line[64];
  const int is_collective = argc > 1 && strcmp(argv[1], "allreduce") == 0;
  MPI_Init(&argc, &argv);
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int times = atoi(line);
    const double begin = now_ns();
    for (int i = 0; i < times; ++i) call(is_collective);
    printf("%.3f\n", (now_ns() - begin) / times);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
