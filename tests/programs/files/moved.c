/* Names of MPI-IO are relative to where the rank is: each goes to a directory of its own,
   "moved-RANK". */
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char own[32];
  char path[64];
  snprintf(own, sizeof own, "moved-%d", rank);
  snprintf(path, sizeof path, "%s/data", own);
  mkdir(own, 0777);
  if (chdir(own) != 0) return 1;
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write(file, own, rank + 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  struct stat status;
  const int here = stat("data", &status);
  printf("rank %d: here %d, %ld bytes\n", rank, here, (long)status.st_size);
  if (chdir("..") != 0) return 1;
  printf("rank %d: below %d\n", rank, stat(path, &status));
  if (chdir(own) != 0) return 1;
  printf("rank %d: deleted %d\n", rank, MPI_File_delete("data", MPI_INFO_NULL));
  printf("rank %d: gone %d\n", rank, stat("data", &status));
  if (chdir("..") != 0) return 1;
  rmdir(own);
  MPI_Finalize();
  return 0;
}
