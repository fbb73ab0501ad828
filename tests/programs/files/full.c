/* Writes more than a file system of 1 MB can hold. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char data[600000];
  MPI_Init(&argc, &argv);
  const int one = open("/pfs/one", O_CREAT | O_WRONLY, 0600);
  const int two = open("/pfs/two", O_CREAT | O_WRONLY, 0600);
  printf("first %zd\n", write(one, data, sizeof data));
  printf("second %zd\n", write(two, data, sizeof data));
  printf("full %d\n", errno == ENOSPC);
  unlink("/pfs/one");
  close(one); /* now there is space again */
  printf("again %zd\n", write(two, data, sizeof data));
  MPI_Finalize();
  return 0;
}
