/* Reads, changes and removes files that are in the working directory before the run. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char data[64];
  MPI_Init(&argc, &argv);
  int fd = open("input", O_RDONLY);
  printf("read %zd\n", read(fd, data, sizeof data));
  close(fd);
  fd = open("input", O_WRONLY);
  printf("wrote %zd\n", write(fd, "NEW", 3));
  close(fd);
  printf("removed %d\n", unlink("gone"));
  DIR* directory = opendir(".");
  int listed = 0;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;)
    listed += strcmp(entry->d_name, "input") == 0 || strcmp(entry->d_name, "gone") == 0;
  closedir(directory);
  printf("listed %d\n", listed);
  MPI_Finalize();
  return 0;
}
