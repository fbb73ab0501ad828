/* Ranks that compute at once. "wait": ranks 0 and 1 wait for each other without MPI, by files in
   the working directory, at most a minute. "operation": two collectives run a function of the
   program while its rank computes. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

static int rank, ranks;

static void wait_for_the_other(void) {
  char own[32], other[32];
  snprintf(own, sizeof own, "computes-%d", rank);
  snprintf(other, sizeof other, "computes-%d", 1 - rank);
  fclose(fopen(own, "w"));
  for (int i = 0; i < 60000 && access(other, F_OK) != 0; ++i) {
    fd_set none;
    FD_ZERO(&none);
    struct timeval millisecond = {0, 1000};
    select(0, &none, NULL, NULL, &millisecond);
  }
  printf("%d: the other %s\n", rank, access(other, F_OK) == 0 ? "computes" : "does not");
}

static double compute(int steps) {
  volatile double sum = 0;
  for (int i = 0; i < steps; ++i) sum += 1.0 / (i + 1);
  return sum;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  compute(20000);
  for (int i = 0; i < *count; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

static void operate(void) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  double values[3] = {rank, 1, 0.5 * rank}, sums[3], received = 0;
  double others[500], totals[500];
  for (int i = 0; i < 500; ++i) others[i] = 1000 * rank + i;
  for (int round = 0; round < 20; ++round) {
    MPI_Request requests[3];
    MPI_Iallreduce(values, sums, 3, MPI_DOUBLE, op, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(others, totals, 500, MPI_DOUBLE, op, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(&received, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
    compute(100000 * (1 + (rank + round) % 3));
    MPI_Send(&values[0], 1, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD);
    compute(50000);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    values[2] = sums[2] / ranks + received;
    for (int i = 0; i < 500; ++i) {
      const double expected = 500. * ranks * (ranks - 1) + ranks * i;
      if (totals[i] != expected) printf("%d: %g, expected %g\n", rank, totals[i], expected);
    }
  }
  printf("%d: %g %g %g\n", rank, sums[0], sums[1], values[2]);
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "wait") == 0) wait_for_the_other();
  if (strcmp(argv[1], "operation") == 0) operate();
  MPI_Finalize();
  return 0;
}
