// Writes a file of 200,000 bytes in the directory argv[1] and copies it in two parts.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (chdir(argv[1]) != 0) return 1;
  const int from = open("from", O_CREAT | O_TRUNC | O_RDWR, 0666);
  const int to = open("to", O_CREAT | O_TRUNC | O_RDWR, 0666);
  char *data = calloc(1, 200000);
  if (write(from, data, 200000) != 200000) return 1;
  off_t at = 0;
  if (sendfile(to, from, &at, 50000) != 50000) return 1;
  if (copy_file_range(from, &at, to, NULL, 150000, 0) != 150000) return 1;
  free(data);
  close(from);
  close(to);
  MPI_Finalize();
  return 0;
}
