/* Barriers and reductions whose result depends on the order of the operands, on all ranks and on
 * halves of them. Each rank prints a sum of its results. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const double mine[3] = {rank * 0.1, 1.0 / (rank + 1), rank};
  double all[3], sum = 0;
  for (int i = 0; i < 30; ++i) {
    MPI_Request request;
    struct {
      double value;
      int rank;
    } own = {0, rank}, greatest;
    usleep((useconds_t)((rank * 7 + i * 3) % 5));
    MPI_Barrier(i % 3 ? MPI_COMM_WORLD : half);
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, i % 2 ? half : MPI_COMM_WORLD);
    sum += all[0] + all[1];
    own.value = all[1] * (rank % 3);
    MPI_Allreduce(&own, &greatest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    sum += greatest.rank;
    MPI_Iallreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += all[2];
  }
  printf("%d %.17g\n", rank, sum);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
