/* changed_names.c DIRECTORY: names of the host's DIRECTORY, which is on no mount, lead to the one
   of the working directory and away from it. Prints whether a file was made there. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char link_name[4096];

/* Makes a file by the name of the directory; whether it is in the working directory. */
static void make_file(const char* name) {
  char path[5000];
  snprintf(path, sizeof path, "%s/%s", link_name, name);
  close(open(path, O_CREAT | O_WRONLY, 0666));
  printf("%s %d\n", name, access(name, F_OK) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char here[4096], other_name[5000];
  getcwd(here, sizeof here);
  snprintf(link_name, sizeof link_name, "%s/name", argv[1]);
  mkdir(link_name, 0777);
  make_file("directory");
  rename(link_name, strcat(strcpy(other_name, link_name), "-before"));
  symlink(here, link_name);
  make_file("link");
  unlink(link_name);
  mkdir(link_name, 0777);
  make_file("again");
  MPI_Finalize();
  return 0;
}
