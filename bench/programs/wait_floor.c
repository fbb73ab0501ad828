/* How late threads are that only read the clock until a given time: the lateness that the machine
 * causes without a replayer. As many threads as asked for wait for 4,000 moments that are
 * 0.4 ms apart. Prints the 99th percentile in ns. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kWaits = 4000, kMostThreads = 64, kApartNs = 400000 };

static int64_t late[kMostThreads * kWaits];

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void* wait_often(void* data) {
  int64_t* mine = data;
  int64_t due = now_ns();
  for (int i = 0; i < kWaits; ++i) {
    due += kApartNs;
    int64_t now;
    while ((now = now_ns()) < due) {
    }
    mine[i] = now - due;
  }
  return NULL;
}

static int by_size(const void* left, const void* right) {
  const int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

int main(int argc, char** argv) {
  const int threads = argc == 2 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > kMostThreads) return 2;
  pthread_t started[kMostThreads];
  for (int i = 0; i < threads; ++i) {
    pthread_create(&started[i], NULL, wait_often, late + (size_t)i * kWaits);
  }
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  const size_t all = (size_t)threads * kWaits;
  qsort(late, all, sizeof late[0], by_size);
  printf("%lld\n", (long long)late[all * 99 / 100]);
  return 0;
}
