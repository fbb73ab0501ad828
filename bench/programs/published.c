/* The usual micro-benchmarks, in the manner of the OSU ones, for one number of ranks.
 *
 *   published MODE SIZE...
 *
 * Prints "SIZE VALUE" for each size: us for latency and collectives, MB/s for bandwidth of one pair
 * in one or both directions, messages/s of all pairs for rate. In rate the first half of the ranks
 * sends to the second half. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, WARM_UP = 1, ROUNDS = 5 };

static int rank, ranks;
static char *out, *in;

static double latency(int bytes) {
  double begin = 0;
  for (int i = 0; i < WARM_UP + ROUNDS; ++i) {
    if (i == WARM_UP) begin = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) * 1e6 / (2 * ROUNDS);
}

/* Seconds in which every sender sends ROUNDS windows, each of which the receiver answers. */
static double windows(int bytes, int both_ways) {
  const int half = ranks / 2;
  const int sends = rank < half || both_ways, receives = rank >= half || both_ways;
  const int peer = rank < half ? rank + half : rank - half;
  MPI_Request requests[2 * WINDOW];
  double begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WARM_UP + ROUNDS; ++i) {
    if (i == WARM_UP) begin = MPI_Wtime();
    int count = 0;
    for (int j = 0; receives && j < WINDOW; ++j)
      MPI_Irecv(in, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[count++]);
    for (int j = 0; sends && j < WINDOW; ++j)
      MPI_Isend(out, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    if (rank < half) {
      MPI_Recv(in, 4, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(out, 4, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
    }
  }
  double mine = MPI_Wtime() - begin, longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static void call(const char *mode, int bytes) {
  if (!strcmp(mode, "allreduce"))
    MPI_Allreduce(out, in, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (!strcmp(mode, "reduce"))
    MPI_Reduce(out, in, bytes / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  else if (!strcmp(mode, "alltoall"))
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
  else if (!strcmp(mode, "allgather"))
    MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
  else if (!strcmp(mode, "bcast"))
    MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  else if (!strcmp(mode, "barrier"))
    MPI_Barrier(MPI_COMM_WORLD);
  else {
    if (rank == 0) fprintf(stderr, "unknown mode %s\n", mode);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

/* Mean over the ranks, with a barrier before each call. */
static double collective(const char *mode, int bytes) {
  double mine = 0, sum = 0;
  for (int i = 0; i < WARM_UP + ROUNDS; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    call(mode, bytes);
    if (i >= WARM_UP) mine += MPI_Wtime() - begin;
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / ranks * 1e6 / ROUNDS;
}

static double measured(const char *mode, int bytes) {
  if (!strcmp(mode, "latency")) return latency(bytes);
  const double messages = (double)ROUNDS * WINDOW * (ranks / 2);
  if (!strcmp(mode, "bandwidth")) return messages * bytes / windows(bytes, 0) / 1e6;
  if (!strcmp(mode, "both_ways")) return 2 * messages * bytes / windows(bytes, 1) / 1e6;
  if (!strcmp(mode, "rate")) return messages / windows(bytes, 0);
  return collective(mode, bytes);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 2; i < argc; ++i) {
    const int bytes = atoi(argv[i]);
    const int each = !strcmp(argv[1], "alltoall") || !strcmp(argv[1], "allgather");
    const size_t length = (size_t)(bytes > 4 ? bytes : 4) * (size_t)(each ? ranks : 1);
    out = calloc(length, 1);
    in = calloc(length, 1);
    const double value = measured(argv[1], bytes);
    if (rank == 0) printf("%d %.6g\n", bytes, value);
    free(out);
    free(in);
  }
  MPI_Finalize();
  return 0;
}
