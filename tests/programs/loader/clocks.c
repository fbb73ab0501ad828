/* Clocks move by sleeping, and by nothing else when computing costs nothing. */
#define _GNU_SOURCE
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static double at(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv) {
  int rank;
  struct timeval tv;
  struct timespec ts = {1, 250000000};
  struct rusage usage;
  struct tms used;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%.3f", at(CLOCK_MONOTONIC));
  sleep(rank + 1);
  printf(" %.3f", at(CLOCK_MONOTONIC));
  usleep(2500);
  printf(" %.4f", at(CLOCK_MONOTONIC_RAW));
  nanosleep(&ts, NULL);
  ts.tv_sec = 20;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
  printf(" %.4f", at(CLOCK_BOOTTIME));
  tv.tv_sec = 0;
  tv.tv_usec = 500000;
  select(0, NULL, NULL, NULL, &tv);
  poll(NULL, 0, 250);
  printf(" %.4f", at(CLOCK_REALTIME) - 1e9);
  gettimeofday(&tv, NULL);
  printf(" %ld %ld", (long)(tv.tv_sec - 1000000000), (long)tv.tv_usec);
  printf(" %ld", (long)(time(NULL) - 1000000000));
  getrusage(RUSAGE_SELF, &usage);
  printf(" cpu %.4f %.4f %.4f", at(CLOCK_PROCESS_CPUTIME_ID), (double)clock() / CLOCKS_PER_SEC,
         usage.ru_utime.tv_sec + 1e-6 * usage.ru_utime.tv_usec);
  const long ticks = times(&used);
  printf(" ticks %ld %ld %ld\n", ticks, (long)used.tms_utime, (long)used.tms_stime);
  MPI_Finalize();
  return 0;
}
