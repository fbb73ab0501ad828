/* How long calls on files take, by the program's own clock. */
#include <aio.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const size_t size = strtoul(argv[1], NULL, 10);
  char* data = calloc(size + 1, 1);
  data[0] = 'x';
#define TIMED(name, ...)                             \
  do {                                               \
    const double begin = MPI_Wtime();                \
    __VA_ARGS__;                                     \
    printf("%s %.12g\n", name, MPI_Wtime() - begin); \
  } while (0)
  const int fd = open("written", O_CREAT | O_RDWR, 0600);
  TIMED("write", if (write(fd, data, size) != (ssize_t)size) return 1);
  TIMED("pread", if (pread(fd, data, size, 0) != (ssize_t)size) return 2);
  TIMED("nothing", if (pread(fd, data, 10, (off_t)size) != 0) return 3);
  TIMED("map", if (size > 0) munmap(mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0), size));
  struct aiocb request = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = size};
  TIMED("later", {
    const struct aiocb* list[] = {&request};
    if (aio_write(&request) != 0) return 4;
    usleep(500000);
    aio_suspend(list, 1, NULL);
    if (aio_return(&request) != (ssize_t)size) return 5;
  });
  close(fd);
  FILE* stream = fopen("streamed", "w");
  const size_t whole = size / 4096 * 4096;
  TIMED("stream", {
    if (fwrite(data, 1, whole, stream) != whole) return 6;
    fflush(stream);
  });
  fclose(stream);
  MPI_Finalize();
  return 0;
}
