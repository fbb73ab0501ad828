/* Ordered and split collective writes of 10 integers at each rank: their offsets are in the records. */
#include <mpi.h>

enum { N = 10 };

int main(int argc, char** argv) {
  MPI_File file;
  int rank, data[N] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File_open(MPI_COMM_WORLD, "started", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 100, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_at_all_begin(file, 5 + rank * N, data, N, MPI_INT);
  MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_seek(file, 50 + rank * N, MPI_SEEK_SET);
  MPI_File_write_all_begin(file, data, N, MPI_INT);
  MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, N, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
