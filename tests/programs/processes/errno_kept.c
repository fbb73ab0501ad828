/* Counts the calls that succeed and change errno. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMarked = 12345, kRounds = 200 };
static int changed, failed;

static void check(const char* call, int has_succeeded) {
  if (!has_succeeded) ++failed;
  if (errno != kMarked && changed++ < 5) printf("%s: %s\n", call, strerror(errno));
  errno = kMarked;
}
#define CHECK(call, condition) check(#call, (call)condition)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char data[1000] = "", name[100];
  struct stat status;
  errno = kMarked;
  for (int i = 0; i < kRounds; ++i) {
    int fd;
    CHECK(fd = open("file", O_CREAT | O_RDWR, 0666), >= 0);
    CHECK(write(fd, data, sizeof data), == sizeof data);
    CHECK(pread(fd, data, sizeof data, 0), == sizeof data);
    CHECK(close(fd), == 0);
    CHECK(stat("file", &status), == 0);
    CHECK(access("file", F_OK), == 0);
    CHECK(stat("/etc", &status), == 0);
    CHECK(rename("file", "moved"), == 0);
    CHECK(unlink("moved"), == 0);
    CHECK(mkdir("directory", 0777), == 0);
    CHECK(chdir("directory"), == 0);
    CHECK(chdir(".."), == 0);
    CHECK(rmdir("directory"), == 0);
    strcpy(name, "temporary-XXXXXX");
    CHECK(fd = mkstemp(name), >= 0);
    CHECK(close(fd), == 0);
    CHECK(usleep(10), == 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD), == MPI_SUCCESS);
  }
  printf("changed %d failed %d\n", changed, failed);
  MPI_Finalize();
  return 0;
}
