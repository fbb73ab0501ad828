/* Uses library.c; also a function that is chosen by processor. */
#include "library.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>

int program_answer(void) { return 42; }

static int chosen_one(void) { return 21; }
static int (*choose(void))(void) { return chosen_one; }
int chosen(void) __attribute__((ifunc("choose")));

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i <= rank; ++i) {
    library_count();
    *library_thread_count() += 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) break;
  }
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  int count = library_count();
  volatile double argument = rank == 0 ? -0.5 : -1.5;
  double logarithm = lgamma(argument);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%.3f %d\n", logarithm, signgam);
  printf("%d %d %d %s %d %d\n", count, library_value, *library_thread_count(),
         library_names[1], library_ask(), chosen());
  MPI_Finalize();
  return 0;
}
