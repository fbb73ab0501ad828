/* Unmaps a shared mapping of a file in parts, and later other memory at its address. Prints how long
 * each call took. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void unmap(const char* name, char* address, size_t size) {
  const double begin = MPI_Wtime();
  if (munmap(address, size) != 0) perror("munmap");
  printf("%s %.9g\n", name, MPI_Wtime() - begin);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int fd = open("mapped", O_CREAT | O_RDWR, 0600);
  if (ftruncate(fd, 5 * PAGE) != 0) return 1;
  const int access = PROT_READ | PROT_WRITE;
  char* const map = mmap(NULL, 5 * PAGE, access, MAP_SHARED, fd, 0);
  unmap("middle", map + 2 * PAGE, PAGE);
  unmap("end", map + 3 * PAGE, 2 * PAGE - 10); /* up to the end of the page */
  unmap("begin", map, 2 * PAGE);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (mmap(map, 5 * PAGE, access, flags, -1, 0) != map) return 2;
  unmap("other", map, 5 * PAGE);
  MPI_Finalize();
  return 0;
}
