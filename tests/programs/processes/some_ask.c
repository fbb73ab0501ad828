/* some_ask RANK: this rank asks for MPI_THREAD_MULTIPLE, the others call MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Before MPI_Init, ranks are known by their environments only. */
static int own_number(void) {
  const char* number = getenv("OMPI_COMM_WORLD_RANK");
  return number != NULL ? atoi(number) : -1;
}

int main(int argc, char** argv) {
  int rank, level = MPI_THREAD_SINGLE;
  if (argc != 2) return 1;
  if (own_number() == atoi(argv[1]))
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  else
    MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d: level %d\n", rank, level);
  MPI_Finalize();
  return 0;
}
