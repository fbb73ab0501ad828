/* Calls that send and receive, each so long that the tracer's clock, renewed every second, is
 * renewed in one of them and has a rate of its own from then on. */
#include <mpi.h>
#include <unistd.h>

enum { CALLS = 150, EACH_US = 10000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < CALLS; ++i) {
    if (rank == 0) usleep(EACH_US);
    int out = i, in;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
