/* Uses of files and messages in every order that a seed gives: files_and_messages SEED [FILE].

   Ranks access one file by explicit offsets, by the shared pointer and in atomic mode, with
   blocking and non-blocking calls, and own files by POSIX calls, some of which are removed while
   they are open. Between, they send small and large messages and receive from any source. What each
   rank reads is printed as one number. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seeded.h"

enum { kSmall = 64, kLarge = 150000, kSteps = 12 };

static unsigned char data[kLarge];
static unsigned long sum = 5381;

static void add(const unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) sum = sum * 33 + bytes[i];
}

static int bytes_of_step(int step) { return step % 3 == 0 ? kLarge : kSmall * (1 + step); }

/* A non-blocking access, while the same network interface sends and receives. */
static void overlap(MPI_File file, int step) {
  const int bytes = bytes_of_step(step);
  static unsigned char in[kLarge];
  MPI_Request requests[3];
  memset(data, rank + step, sizeof data);
  MPI_File_iwrite_at(file, (MPI_Offset)kLarge * (rank + ranks * step), data, bytes, MPI_BYTE,
                     &requests[0]);
  const int right = (rank + 1) % ranks;
  MPI_Irecv(in, sizeof in, MPI_BYTE, MPI_ANY_SOURCE, step, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(data, (int)(next(2) != 0 ? kLarge : kSmall), MPI_BYTE, right, step, MPI_COMM_WORLD,
            &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  add(in, kSmall);
}

static void own_file(const char* name, int step) {
  char path[256];
  snprintf(path, sizeof path, "%s.%d", name, rank);
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  const int is_removed = step % 2;
  if (is_removed) unlink(path);
  memset(data, rank + 1, kSmall);
  for (unsigned i = next(4); i < 6; ++i) {
    if (pwrite(fd, data, kSmall, (off_t)i * kSmall) < 0) abort();
  }
  if (pread(fd, data, kSmall, 5 * kSmall) < 0) abort();
  add(data, kSmall);
  close(fd);
  if (!is_removed) unlink(path);
}

static void shared_pointer(MPI_File file, int step) {
  memset(data, rank + step, kSmall);
  if (next(2) != 0) MPI_File_write_shared(file, data, kSmall, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 1 + rank, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void atomic(MPI_File file) {
  MPI_File_set_atomicity(file, 1);
  for (int i = 0; i < 2; ++i) {
    MPI_File_read_at(file, 0, data, kSmall, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_at(file, 0, data, kSmall, MPI_BYTE, MPI_STATUS_IGNORE);
    add(data, kSmall);
  }
  MPI_File_set_atomicity(file, 0);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int step = 0; step < kSteps; ++step) {
    switch ((seed * 7u + (unsigned)step * (unsigned)step) % 4) {
      case 0:
        overlap(file, step);
        break;
      case 1:
        own_file(file_name, step);
        break;
      case 2:
        shared_pointer(file, step);
        break;
      default:
        atomic(file);
    }
  }
  MPI_File_close(&file);
  printf("rank %d: %lu\n", rank, sum);
  MPI_Finalize();
  return 0;
}
