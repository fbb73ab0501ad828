/* What a variable of the environment is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* value = getenv(argv[1]);
  if (value == NULL) printf("%s is not set\n", argv[1]);
  if (value != NULL) printf("%s is %s\n", argv[1], value);
  MPI_Finalize();
  return 0;
}
