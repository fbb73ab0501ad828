/* Originals of the host that all ranks read when a rank renames them: renamed NAME... */
#include <mpi.h>
#include <stdio.h>

/* Whether each rank reads the file's last byte after the rank `renames` has given it another name.
 */
static int read_renamed(const char* name, int rank, int renames) {
  char target[256];
  snprintf(target, sizeof target, "%s.moved", name);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Offset bytes = 0;
  MPI_File_get_size(file, &bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == renames && rename(name, target) != 0) perror(target);
  MPI_Barrier(MPI_COMM_WORLD);
  char last = 1;
  MPI_Status status;
  int count = 0;
  const int error = MPI_File_read_at(file, bytes - 1, &last, 1, MPI_BYTE, &status);
  if (error == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_File_close(&file);
  return error == MPI_SUCCESS && count == 1 && last == 0;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int good = 0;
  for (int i = 1; i < argc; ++i) good += read_renamed(argv[i], rank, i % ranks);
  printf("rank %d: read %d of %d\n", rank, good, argc - 1);
  MPI_Finalize();
  return good == argc - 1 ? 0 : 1;
}
