/* A long time between two writes: `compute` or `sleep` MILLISECONDS, or `both`.
 * Argument 3: the file. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double had(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double milliseconds = atof(argv[2]), end = had() + milliseconds;
  int fd = open(argv[3], O_CREAT | O_TRUNC | O_RDWR, 0644);
  if (write(fd, argv, 8) != 8) return 1;
  if (strcmp(argv[1], "sleep") == 0 || strcmp(argv[1], "both") == 0) {
    usleep((useconds_t)(1e3 * milliseconds));
  }
  while (strcmp(argv[1], "sleep") != 0 && had() < end) {
  }
  if (write(fd, argv, 8) != 8) return 1;
  return close(fd);
}
