/* Ranks that make different collective calls on a file. */
#include "checks.h"

int main(int argc, char** argv) {
  int value = 1;
  MPI_File file;
  start(&argc, &argv);
  NEED(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                     &file));
  NEED(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  if (rank == 1) {
    MPI_File_read_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  } else {
    MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
