// Spawns one process of a command and prints whether it could: one_spawn COMMAND [SPARE]. SPARE is
// how many descriptors the simulator, its parent, may still open; the program then prints how many
// it had open before and has afterwards.
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int open_descriptors(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd", process);
  DIR* directory = opendir(path);
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count - 2;  // without "." and ".."
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    const pid_t simulator = getppid();
    const int before = open_descriptors(simulator);
    struct rlimit usual, limit;
    if (argc > 2) {
      prlimit(simulator, RLIMIT_NOFILE, NULL, &usual);
      limit = usual;
      limit.rlim_cur = before + atoi(argv[2]);
      prlimit(simulator, RLIMIT_NOFILE, &limit, NULL);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    const int error = MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                     &children, MPI_ERRCODES_IGNORE);
    printf("%s\n", error == MPI_SUCCESS ? "spawned" : "failed");
    if (argc > 2) {
      prlimit(simulator, RLIMIT_NOFILE, &usual, NULL);
      printf("%d descriptors more\n", open_descriptors(simulator) - before);
    }
  }
  MPI_Finalize();
  return 0;
}
