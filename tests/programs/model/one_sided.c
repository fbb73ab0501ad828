/* one_sided put|get|swap: rank 0 accesses 4 KiB of rank 1 ten times, each until it is done. */
#include <mpi.h>
#include <string.h>

enum { kBytes = 4096, kTimes = 10 };

int main(int argc, char** argv) {
  char here[kBytes] = {0}, before[kBytes];
  char* memory;
  int rank;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  if (argc == 2 && rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    for (int i = 0; i < kTimes; ++i) {
      if (strcmp(argv[1], "put") == 0)
        MPI_Put(here, kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, window);
      else if (strcmp(argv[1], "get") == 0)
        MPI_Get(here, kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE, window);
      else
        MPI_Get_accumulate(here, kBytes, MPI_BYTE, before, kBytes, MPI_BYTE, 1, 0, kBytes, MPI_BYTE,
                           MPI_REPLACE, window);
      MPI_Win_flush(1, window);
    }
    MPI_Win_unlock(1, window);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
