/* Reads a number from standard input, with the C library's buffer, then asks for
   MPI_THREAD_MULTIPLE. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int number = -1, level;
  if (scanf("%d", &number) != 1) number = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  printf("number %d level %d\n", number, level);
  MPI_Finalize();
  return 0;
}
