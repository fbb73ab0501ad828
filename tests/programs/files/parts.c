/* Each rank writes its own part of a file, in one collective call. */
#include "checks.h"

enum { BYTES = 1000 };

int main(int argc, char** argv) {
  MPI_File file;
  char data[BYTES] = {1};
  start(&argc, &argv);
  NEED(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                     &file));
  NEED(MPI_File_write_at_all(file, rank * BYTES, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  NEED(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
