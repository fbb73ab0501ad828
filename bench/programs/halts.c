// Two processes that each multiply a sparse matrix of 11 MB by a vector, with three breaks of 50 us
// after each product, in which they look at a clock (0) or sleep (1). Prints the median time of a
// product, in us: of the first process.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRows = 14000, kPerRow = 66, kColumns = 7000, kProducts = 800, kBreaks = 3, kBreakUs = 50 };

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static void pause_for_us(int sleeps, double us) {
  const struct timespec duration = {0, (long)(1000 * us)};
  const double end = now_us() + us;
  if (sleeps)
    nanosleep(&duration, NULL);
  else
    while (now_us() < end) {
    }
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median_product_us(int sleeps) {
  static double vector[kColumns], result[kRows], times[kProducts];
  double* const values = malloc(sizeof(double) * kRows * kPerRow);
  int* const columns = malloc(sizeof(int) * kRows * kPerRow);
  for (int i = 0; i < kRows * kPerRow; ++i) {
    values[i] = 1e-3;
    columns[i] = rand() % kColumns;
  }
  for (int i = 0; i < kColumns; ++i) vector[i] = 1;
  for (int product = 0; product < kProducts; ++product) {
    const double begin = now_us();
    for (int row = 0; row < kRows; ++row) {
      double sum = 0;
      for (int i = row * kPerRow; i < (row + 1) * kPerRow; ++i) sum += values[i] * vector[columns[i]];
      result[row] = sum;
    }
    times[product] = now_us() - begin;
    for (int i = 0; i < kColumns; ++i) vector[i] = 1 + 1e-9 * result[i];
    for (int i = 0; i < kBreaks; ++i) pause_for_us(sleeps, kBreakUs);
  }
  qsort(times, kProducts, sizeof times[0], compare);
  return times[kProducts / 2];
}

int main(int argc, char** argv) {
  const int sleeps = argc > 1 && strcmp(argv[1], "1") == 0;
  const int is_first = fork() != 0;
  const double median = median_product_us(sleeps);
  if (!is_first) return 0;
  while (wait(NULL) > 0) {
  }
  printf("%.1f\n", median);
}
