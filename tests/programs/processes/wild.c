/* Rank 1 writes to the memory of its calls, as a stray pointer may: behind the numbers at its
 * begin. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kBegin = 64, kBytes = 1024, kLeast = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1000];
  while (rank == 1 && fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    if (strstr(line, "sesame-ranks") == NULL) continue;
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && end - begin > kLeast)
      memset((char*)begin + kBegin, 255, kBytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  printf("not reported\n");
  MPI_Finalize();
  return 0;
}
