/* Seeks in a file, each followed by a read of one element of 4 bytes. Prints the offset of each
 * read in bytes, as MPI itself says it. */
#include <mpi.h>
#include <stdio.h>

enum { ELEMENTS = 100 };

static void read_after(MPI_File file, MPI_Offset offset, int whence) {
  MPI_Offset position = 0, byte = 0;
  int element = 0;
  MPI_File_seek(file, offset, whence);
  MPI_File_get_position(file, &position);
  MPI_File_get_byte_offset(file, position, &byte);
  MPI_File_read(file, &element, 1, MPI_INT, MPI_STATUS_IGNORE);
  printf("offset %lld\n", (long long)byte);
}

int main(int argc, char** argv) {
  int element = 0;
  int data[ELEMENTS] = {0};
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write(file, data, ELEMENTS, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 40, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  read_after(file, 10, MPI_SEEK_SET);
  read_after(file, 5, MPI_SEEK_CUR);
  read_after(file, -3, MPI_SEEK_CUR);
  read_after(file, -7, MPI_SEEK_END);
  MPI_File_seek_shared(file, 6, MPI_SEEK_SET);
  MPI_File_seek_shared(file, 2, MPI_SEEK_CUR);
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_APPEND | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write(file, &element, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write(file, &element, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
