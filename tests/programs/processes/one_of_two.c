/* Two programs of one script, one_of_two.c first|second. The first, which ends before MPI_Init,
   leaves a file open that has no name any more, and works in a directory of the file system: it
   ends by exit or, with "killed", by a signal. The second needs the space of the file, and uses its
   own directory. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char data[600000];

static int leave_file(int is_killed) {
  int is_initialized;
  MPI_Initialized(&is_initialized);
  mkdir("/pfs/directory", 0777);
  if (chdir("/pfs/directory") != 0) return 1;
  const int fd = open("left", O_CREAT | O_WRONLY, 0666);
  printf("left %zd\n", write(fd, data, sizeof data));
  fflush(stdout);
  unlink("left");
  if (is_killed) raise(SIGKILL);
  return 0;
}

int main(int argc, char** argv) {
  if (strcmp(argv[1], "first") == 0) return leave_file(argc > 2 && strcmp(argv[2], "killed") == 0);
  MPI_Init(&argc, &argv);
  const int fd = open("/pfs/other", O_CREAT | O_WRONLY, 0666);
  printf("other %zd\n", write(fd, data, sizeof data));
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "by-mpi", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_close(&file);
  printf("here %d\n", access("by-mpi", F_OK) == 0);
  MPI_Finalize();
  return 0;
}
