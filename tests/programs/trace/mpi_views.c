/* Each rank reads columns of a matrix of bytes through a file view with holes:
   mpi_views FILE ROWS COLUMNS own|same. The file is there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const int rows = atoi(argv[2]), columns = atoi(argv[3]);
  int sizes[2] = {rows, columns}, parts[2] = {rows, columns / ranks};
  int starts[2] = {0, strcmp(argv[4], "own") == 0 ? rank * (columns / ranks) : 0};
  MPI_Datatype own;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &own);
  MPI_Type_commit(&own);
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_File_set_view(file, 0, MPI_BYTE, own, "native", MPI_INFO_NULL);
  char* data = malloc((size_t)rows * (size_t)parts[1]);
  MPI_File_read_all(file, data, rows * parts[1], MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
  MPI_Type_free(&own);
  MPI_Finalize();
  return 0;
}
