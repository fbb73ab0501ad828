// Spawns with arguments that cannot be used: the errors come back, and the program continues.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failed(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm children;
  char directory[301] = "";
  memset(directory, 'x', sizeof directory - 1);  // longer than a file system's names
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "wdir", directory);
  const int no_directory = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF,
                                          &children, MPI_ERRCODES_IGNORE);
  char* commands[] = {argv[0]};
  const int no_counts = MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, NULL, &info, 0,
                                                MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  printf("%s %s\n", failed(no_directory) == MPI_ERR_SPAWN ? "spawn" : "other",
         failed(no_counts) == MPI_ERR_ARG ? "argument" : "other");
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
