/* Files that stay mapped after their descriptor is closed: mapped [FILE]. Each rank maps its own
   file and a part of one that all share, also after their names are removed, and unmaps them last.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 4, kBytes = kPage * kPages };

static int rank;
static unsigned long sum = 5381;

static void check(int is_true, const char* what) {
  if (is_true) return;
  perror(what);
  abort();
}

static int make_file(const char* path, off_t bytes) {
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  check(fd >= 0, path);
  check(ftruncate(fd, bytes) == 0, "ftruncate");
  return fd;
}

/* At `address` if it is not null. The mapping is the only use of the file afterwards. */
static unsigned char* map_and_close(int fd, void* address, off_t offset) {
  const int fixed = address != NULL ? MAP_FIXED : 0;
  void* const place = mmap(address, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, offset);
  check(place != MAP_FAILED, "mmap");
  check(close(fd) == 0, "close");
  return place;
}

static void fill(unsigned char* bytes, int value) {
  memset(bytes, value + rank, kBytes);
  for (int i = 0; i < kBytes; i += kPage) sum = sum * 33 + bytes[i];
}

static void map_own_file(const char* name, int step) {
  char path[256];
  snprintf(path, sizeof path, "%s.%d.%d", name, rank, step);
  unsigned char* const bytes = map_and_close(make_file(path, kBytes), NULL, 0);
  if (step % 2 == 0) unlink(path);
  fill(bytes, step);
  if (step % 3 == 0) check(msync(bytes, kPage, MS_SYNC) == 0, "msync");
  check(munmap(bytes + kPage, kPage) == 0, "munmap of a part");
  check(munmap(bytes, kBytes) == 0, "munmap");
  if (step % 2 != 0) unlink(path);
}

/* A mapping takes the place of another one, whose file has no name and no descriptor. */
static void replace_mapping(const char* name) {
  char path[256];
  snprintf(path, sizeof path, "%s.%d", name, rank);
  unsigned char* const bytes = map_and_close(make_file(path, kBytes), NULL, 0);
  unlink(path);
  map_and_close(make_file(path, kBytes), bytes, 0);
  unlink(path);
  fill(bytes, 1);
  check(munmap(bytes, kBytes) == 0, "munmap");
}

static void map_shared_file(const char* name, int ranks) {
  const int fd = make_file(name, (off_t)kBytes * ranks);
  unsigned char* const bytes = map_and_close(fd, NULL, (off_t)kBytes * rank);
  if (rank == 0) unlink(name);
  MPI_Barrier(MPI_COMM_WORLD);
  fill(bytes, 2);
  check(munmap(bytes, kBytes) == 0, "munmap");
}

int main(int argc, char** argv) {
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const name = argc > 1 ? argv[1] : "file";
  for (int step = 0; step < 6; ++step) map_own_file(name, step);
  replace_mapping(name);
  MPI_Barrier(MPI_COMM_WORLD);
  map_shared_file(name, ranks);
  printf("rank %d: %lu\n", rank, sum);
  MPI_Finalize();
  return 0;
}
