/* Rank 1 waits in a loop for rank 0 to change memory that they share, which it does after 1 ms of
 * simulated time, or never. Usage: polling WAY set|leave */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int* flag;

static void poll_flag(const char* way) {
  struct timespec time;
  int value = 0;
  if (!strcmp(way, "loads"))
    while (*flag == 0) continue;
  if (!strcmp(way, "pause"))
    while (*flag == 0) __builtin_ia32_pause();
  if (!strcmp(way, "library"))
    while (!strcmp(way, "library") && *flag == 0) continue;
  if (!strcmp(way, "wtime"))
    while (*flag == 0) MPI_Wtime();
  if (!strcmp(way, "clock"))
    while (*flag == 0) clock_gettime(CLOCK_MONOTONIC, &time);
  if (!strcmp(way, "usleep"))
    while (*flag == 0) usleep(10);
  if (!strcmp(way, "yield"))
    while (*flag == 0) sched_yield();
  if (!strcmp(way, "probe"))
    while (*flag == 0) MPI_Iprobe(0, 99, MPI_COMM_WORLD, &value, MPI_STATUS_IGNORE);
}

/* Computes for long, with everything in memory. */
static void compute(void) {
  static volatile unsigned long count, sum;
  for (count = 0; count < 400000000; ++count) sum += count;
}

int main(int argc, char** argv) {
  int rank, unit;
  int* memory;
  MPI_Win window;
  MPI_Aint size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                          &window);
  MPI_Win_shared_query(window, 0, &size, &unit, (void*)&flag);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 0) {
    usleep(1000);
    if (!strcmp(argv[2], "set")) *flag = 9;
  }
  if (rank == 1) {
    strcmp(argv[1], "compute") ? poll_flag(argv[1]) : compute();
    printf("%d %.9f\n", *flag, MPI_Wtime() - begin);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
}
