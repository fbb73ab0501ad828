/* One-sided communication and uses of files at the same time: windows_and_files SEED [FILE].

   In each step the ranks of one half make a window, of a kind that the seed gives, and access each
   other's memory, while the others use files. Between the steps both do so together on a dynamic
   window and a common file, and what they read of one is written to the other. Each rank prints one
   number for all that it has read. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "seeded.h"

enum { kWords = 512, kSteps = 6 };

static long memory[kWords];
static unsigned long sum = 5381;

static void add(const long* words, int count) {
  for (int i = 0; i < count; ++i) sum = sum * 33 + (unsigned long)words[i];
}

static void use_window(MPI_Comm comm, unsigned kind) {
  int members;
  MPI_Comm_size(comm, &members);
  MPI_Win window;
  long* base = memory;
  if (kind % 2 == 0) {
    MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, comm, &window);
  } else {
    MPI_Win_allocate(sizeof memory, sizeof(long), MPI_INFO_NULL, comm, &base, &window);
    for (int i = 0; i < kWords; ++i) base[i] = i;
  }
  MPI_Win_fence(0, window);
  for (int i = 0; i < 3; ++i) {
    const int target = (int)next((unsigned)members);
    const int first = (int)next(kWords / 2);
    long words[kWords / 2];
    for (int j = 0; j < kWords / 2; ++j) words[j] = rank + j;
    MPI_Accumulate(words, kWords / 2, MPI_LONG, target, first, kWords / 2, MPI_LONG, MPI_SUM,
                   window);
    MPI_Win_fence(0, window);
    MPI_Get(words, kWords / 4, MPI_LONG, target, first, kWords / 4, MPI_LONG, window);
    MPI_Win_fence(0, window);
    add(words, kWords / 4);
  }
  MPI_Win_free(&window);
}

static void use_files(MPI_Comm comm, const char* name, int step) {
  char path[256];
  snprintf(path, sizeof path, "%s.%d", name, rank);
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  for (unsigned i = next(3); i < 4; ++i)
    if (pwrite(fd, memory, 64 * (1 + i), (off_t)i * 4096) < 0) abort();
  close(fd);
  unlink(path);
  snprintf(path, sizeof path, "%s.of.%d", name, step);
  MPI_File file;
  MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write_shared(file, memory, 1 + (int)next(kWords / 2), MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, memory, 16, MPI_LONG, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

/* A word of another rank's memory to a place in the file that it says, and from there to a third's.
 */
static void use_both(MPI_Win window, const MPI_Aint* addresses, MPI_File file) {
  for (int i = 0; i < 4; ++i) {
    const int target = (int)next((unsigned)ranks);
    const MPI_Aint address = addresses[target] + (MPI_Aint)(next(8) * sizeof(long));
    const long one = 1;
    long word;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    MPI_Fetch_and_op(&one, &word, MPI_LONG, target, address, MPI_SUM, window);
    MPI_Win_unlock(target, window);
    add(&word, 1);
    const MPI_Offset place = (MPI_Offset)((unsigned long)word % 64) * (MPI_Offset)sizeof word;
    MPI_Request request;
    MPI_File_iwrite_at(file, place, &word, 1, MPI_LONG, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, place, &word, 1, MPI_LONG, MPI_STATUS_IGNORE);
    const int other = (target + 1) % ranks;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    MPI_Put(&word, 1, MPI_LONG, other, addresses[other] + (MPI_Aint)(8 * sizeof(long)), 1, MPI_LONG,
            window);
    MPI_Win_unlock(other, window);
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank < (ranks + 1) / 2, rank, &half);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_preallocate(file, 64 * sizeof(long));
  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  long mine[9] = {rank};
  MPI_Win_attach(window, mine, sizeof mine);
  MPI_Aint address;
  MPI_Get_address(mine, &address);
  MPI_Aint* addresses = malloc((size_t)ranks * sizeof *addresses);
  MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps; ++step) {
    if ((rank < (ranks + 1) / 2) == (step % 2 == 0)) {
      use_window(half, seed + (unsigned)step / 2);
    } else {
      use_files(half, file_name, step);
    }
    use_both(window, addresses, file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  add(mine, 9);
  MPI_Win_detach(window, mine);
  MPI_Win_free(&window);
  MPI_File_close(&file);
  printf("rank %d: %lu\n", rank, sum);
  free(addresses);
  MPI_Finalize();
  return 0;
}
