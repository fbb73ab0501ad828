/* Waits for asynchronous writes of SHORT and then of LONG bytes, the long one first in the list. Prints
 * how long each wait was, and which of the two had ended. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct aiocb requests[2];

static void wait_for_one(const char* name, const struct timespec* limit) {
  const struct aiocb* list[] = {&requests[0], NULL, &requests[1]};
  const double begin = MPI_Wtime();
  errno = 0;
  const int status = aio_suspend(list, 3, limit);
  printf("%s %.9g\n", name, MPI_Wtime() - begin);
  printf("%s_status %d\n", name, status);
  printf("%s_again %d\n", name, errno == EAGAIN);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const size_t sizes[] = {strtoul(argv[2], NULL, 10), strtoul(argv[1], NULL, 10)};
  const char* names[] = {"long", "short"};
  for (int i = 1; i >= 0; --i) {
    requests[i].aio_fildes = open(names[i], O_CREAT | O_RDWR, 0600);
    requests[i].aio_buf = calloc(sizes[i], 1);
    requests[i].aio_nbytes = sizes[i];
    if (aio_write(&requests[i]) != 0) return 1;
  }
  wait_for_one("limited", &(struct timespec){0, 5000000});
  wait_for_one("first", NULL);
  printf("short_ended %d\n", aio_error(&requests[1]) == 0);
  printf("long_ended %d\n", aio_error(&requests[0]) == 0);
  const double begin = MPI_Wtime();
  if (aio_return(&requests[1]) != (ssize_t)sizes[1]) return 2;
  if (aio_return(&requests[0]) != (ssize_t)sizes[0]) return 3;
  printf("last %.9g\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}
