/* Each of some collectives, on all ranks or on all but one in reverse, in an order that depends on a
 * seed, with messages between neighbours and a master that receives from any source in between.
 * Each result is checked.
 *
 *   together SEED
 */
#include <stdio.h>
#include <unistd.h>

#include "seeded.h"

enum { kHalo = 1, kReport = 2, kCollectives = 6 };

static long *mine, *all;

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void halo(int step) {
  const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
  int found = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, to, kHalo, &found, 1, MPI_INT, from, kHalo, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  check(found == from, "neighbour");
}

/* Every eighth rank reports to rank 0, some late. */
static void report(void) {
  int found = 0;
  if (rank % 8 == 1) {
    if (next(3) == 0) usleep(next(40));
    MPI_Send(&rank, 1, MPI_INT, 0, kReport, MPI_COMM_WORLD);
  }
  if (rank != 0) return;
  for (int i = 1; i < ranks; i += 8) {
    MPI_Status status;
    MPI_Recv(&found, 1, MPI_INT, MPI_ANY_SOURCE, kReport, MPI_COMM_WORLD, &status);
    check(found == status.MPI_SOURCE, "report");
  }
}

static void collective(int which, MPI_Comm comm) {
  int number, size;
  long sum = -1;
  MPI_Comm_rank(comm, &number);
  MPI_Comm_size(comm, &size);
  const long expected = (long)size * (size - 1) / 2, own = number;
  for (int i = 0; i < size; ++i) mine[i] = (long)number * size + i;
  switch (which) {
    case 0:
      MPI_Barrier(comm);
      break;
    case 1:
      MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, comm);
      check(sum == expected, "sum");
      break;
    case 2:
      MPI_Allgather(&own, 1, MPI_LONG, all, 1, MPI_LONG, comm);
      for (int i = 0; i < size; ++i) check(all[i] == i, "gathered");
      break;
    case 3:
      MPI_Alltoall(mine, 1, MPI_LONG, all, 1, MPI_LONG, comm);
      for (int i = 0; i < size; ++i) check(all[i] == (long)i * size + number, "exchanged");
      break;
    case 4:
      for (int i = 0; i < size; ++i) mine[i] = number;
      MPI_Reduce_scatter_block(mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
      check(sum == expected, "scattered sum");
      break;
    default: {
      MPI_Request request;
      MPI_Iallreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, comm, &request);
      halo(1);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(sum == expected, "sum behind work");
    }
  }
}

int main(int argc, char** argv) {
  MPI_Comm others;
  begin(argc, argv);
  mine = malloc((size_t)ranks * sizeof *mine);
  all = malloc((size_t)ranks * sizeof *all);
  /* The same ranks the other way round, but for the first. */
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &others);
  for (unsigned round = 0; round < kCollectives; ++round) {
    const unsigned number = seed + round;
    halo(1 + (int)(number * 37 % (unsigned)(ranks - 1)));
    collective((int)(number % kCollectives), number / 2 % 2 ? others : MPI_COMM_WORLD);
    if (number % 3 != 0) report();
  }
  MPI_Comm_free(&others);
  MPI_Finalize();
  return 0;
}
