/* A file that is open keeps its space on a file system of 1 MB after its name is gone, whether it was
   opened by MPI or not, and whichever process removed the name. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static char data[600000];

static void try_to_write(const char* what) {
  const int fd = open("/pfs/other", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  printf("%s %zd\n", what, write(fd, data, sizeof data));
  close(fd);
  unlink("/pfs/other");
}

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_SELF, "/pfs/one", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write(file, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE);
  unlink("/pfs/one");
  try_to_write("mpi_open");
  MPI_File_close(&file);
  try_to_write("mpi_closed");

  const int fd = open("/pfs/two", O_CREAT | O_WRONLY, 0600);
  if (write(fd, data, sizeof data) != sizeof data) return 1;
  MPI_File_delete("/pfs/two", MPI_INFO_NULL);
  try_to_write("posix_open");
  close(fd);
  try_to_write("posix_closed");
  MPI_Finalize();
  return 0;
}
