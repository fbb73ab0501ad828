// Copies BYTES from the buffer of each of RANKS to that of each other, ROUNDS times, as messages
// between them do; prints copies per second.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static char* buffer(size_t bytes) { return memset(malloc(bytes), 1, bytes); }

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = (size_t)atoi(argv[1]);
  const int rounds = atoi(argv[2]);
  const int ranks = atoi(argv[3]);
  char** out = malloc(sizeof(char*) * (size_t)ranks);
  char** in = malloc(sizeof(char*) * (size_t)ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    out[rank] = buffer(bytes);
    in[rank] = buffer(bytes);
  }
  const double begin = seconds();
  for (int round = 0; round < rounds; ++round)
    for (int distance = 1; distance < ranks; ++distance)
      for (int rank = 0; rank < ranks; ++rank)
        memcpy(in[(rank + distance) % ranks], out[rank], bytes);
  printf("%.0f\n", (double)rounds * (ranks - 1) * ranks / (seconds() - begin));
  return 0;
}
