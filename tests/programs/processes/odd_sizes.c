// A data representation whose extent function answers otherwise from its Nth call after the view is
// set.
// odd_sizes FILE N EXTENT: prints the classes of the errors of a write and a read.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls, changes_at = -1;
static MPI_Aint later;

static int convert(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                   void* extra) {
  (void)user, (void)type, (void)position, (void)extra;
  memset(file, 0xff, (size_t)count * 4);
  return MPI_SUCCESS;
}

static int find_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  (void)type, (void)extra;
  ++calls;
  *extent = changes_at > 0 && calls >= changes_at ? later : 4;
  return MPI_SUCCESS;
}

static void print_class(const char* what, int error) {
  int class, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_class(error, &class);
  MPI_Error_string(class, text, &length);
  printf("%s: %s\n", what,
         class == MPI_SUCCESS          ? "done"
         : class == MPI_ERR_CONVERSION ? "not converted"
                                       : text);
}

int main(int argc, char** argv) {
  int data[100] = {0};
  MPI_File file;
  MPI_Init(&argc, &argv);
  later = atol(argv[3]);
  MPI_Register_datarep("odd", convert, convert, find_extent, NULL);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "odd", MPI_INFO_NULL);
  calls = 0;
  changes_at = atoi(argv[2]);
  print_class("write", MPI_File_write_at(file, 0, data, 100, MPI_INT, MPI_STATUS_IGNORE));
  print_class("read", MPI_File_read_at(file, 0, data, 100, MPI_INT, MPI_STATUS_IGNORE));
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
