/* A rank that damages the memory which it shares with the simulator: it makes the file smaller. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int simulator, descriptor;
  char path[64];
  const char* place = getenv("SESAME_RANK_SLOT");
  MPI_Init(&argc, &argv);
  if (place == NULL || sscanf(place, "%d:%d", &simulator, &descriptor) != 2) return 1;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", simulator, descriptor);
  const int file = open(path, O_RDWR);
  if (file < 0) return 1;
  puts(ftruncate(file, 0) == 0 ? "smaller" : "refused");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
