/* Rank 1 leaves out a collective write, and ends. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (rank != 1) MPI_File_write_all(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
