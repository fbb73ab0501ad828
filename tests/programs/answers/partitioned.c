/* Partitioned communication of MPI 4, which the simulator refuses. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  double parts[4] = {0};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    MPI_Psend_init(parts, 4, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(parts, 4, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Finalize();
  return 0;
}
