/* Ranks that disagree, in the way that the argument names. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, values[4] = {0}, all[16];
  double real = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* way = argv[1];
  if (!strcmp(way, "length")) {
    if (rank == 0) MPI_Send(values, 4, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(values, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(way, "type")) {
    if (rank == 0) MPI_Send(&real, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(values, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (!strcmp(way, "root")) {
    MPI_Bcast(values, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
  } else if (!strcmp(way, "operation")) {
    MPI_Allreduce(values, all, 4, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
  } else if (!strcmp(way, "collective")) {
    rank == 1 ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Bcast(values, 4, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (!strcmp(way, "amount")) {
    MPI_Bcast(values, rank == 1 ? 2 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (!strcmp(way, "gather")) {
    const int counts[] = {4, 4, 4}, places[] = {0, 4, 8};
    MPI_Gatherv(values, rank == 1 ? 2 : 4, MPI_INT, all, counts, places, MPI_INT, 0,
                MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
