/* Ways in which a run ends; argument: which one. Every rank exchanges messages with its neighbours
 * first. "forever" does so until it is killed, "records" for a long time. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void exchange(int times) {
  int mine = rank, theirs;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &theirs, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange(10);
  while (strcmp(how, "forever") == 0) exchange(1000);
  if (strcmp(how, "records") == 0) exchange(100 * 1000);
  const int last = rank == size - 1;
  int value = 0;
  if (strcmp(how, "abort") == 0 && last) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(how, "crash") == 0 && last) *(volatile int*)0 = 1;
  if (strcmp(how, "exit") == 0 && last) exit(5);
  if (strcmp(how, "deadlock") == 0)
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "cancel") == 0) {
    MPI_Request request;
    MPI_Issend(&value, 1, MPI_INT, (rank + size / 2) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
  }
  if (strcmp(how, "port") == 0) {
    static char name[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, name);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
