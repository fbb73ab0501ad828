/* Every rank counts in its own variables, however the ranks interleave. */
#include <mpi.h>
#include <stdio.h>

int initialized = 5;
static int zero;
static int large[300000];             /* a .bss with a mapping of its own */
static int *pointer = &initialized;   /* relocated */
static const char *const words[] = {"none", "one", "two", "three"};

static int count(void) {
  static int calls = 100;
  return ++calls;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i <= rank; ++i) {
    *pointer += 1;
    zero += 10;
    large[299999] += 7;
    count();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %d %d %d %s\n", initialized, zero, large[299999], count(), words[rank % 3 + 1]);
  MPI_Finalize();
  return rank % 100;
}
