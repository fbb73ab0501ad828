// Computes before MPI_Finalize, the ranks different amounts, and sends nothing.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  volatile double sum = 0;
  for (long i = 0; i < 200000L * (1 + rank); ++i) sum += 1.0 / (double)(i + 1);
  MPI_Finalize();
  return 0;
}
