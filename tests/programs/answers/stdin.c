#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  char line[100];
  if (fgets(line, sizeof line, stdin) != NULL)
    printf("read: %s", line);
  else
    printf("end\n");
  MPI_Finalize();
  return 0;
}
