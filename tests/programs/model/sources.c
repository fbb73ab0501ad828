/* Receives from any source, as NAS benchmarks of the second version have them:
 *
 *   sources sweeps ROUNDS   LU: waves run through a square of ranks, from one corner and back; at
 *                           each rank a tag belongs to one neighbour
 *   sources levels ROUNDS   MG: neighbours are 1, 2, 4 … ranks away, with the same tags at each
 *                           distance: a tag has several sources, in a known order
 *   sources master ROUNDS   rank 0 answers the others in the order in which they ask, who have
 *                           different work to do
 *   sources cancel ROUNDS   a receive from any source is cancelled while its message is on its way
 *
 * Each rank prints a sum of what it received, weighted by the order.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSouth, kNorth, kWest, kEast, kAsk, kAnswer, kDoubles = 16 };

static int rank, ranks;
static double sum, weight = 1;
static double edge[kDoubles];

static int receive(int tag) {
  MPI_Status status;
  MPI_Recv(edge, kDoubles, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
  sum += weight * (status.MPI_SOURCE + edge[0]);
  weight = weight > 1e6 ? 1 : weight * 1.01;
  return status.MPI_SOURCE;
}

static void send(int to, int tag) {
  edge[0] = rank;
  MPI_Send(edge, kDoubles, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
}

/* Computation, of the same time before each MPI call. To sleep would be an event. */
static void compute(int calls) {
  for (int i = 0, size; i < calls; ++i) MPI_Comm_size(MPI_COMM_WORLD, &size);
}
static void work(int round) { compute(1 + (rank * 7 + round * 3) % 5); }

static int side(void) {
  int n = 1;
  while (n * n < ranks) ++n;
  return n;
}

static void sweep(int round, int back) {
  const int n = side(), step = back ? -1 : 1, end = back ? 0 : n - 1;
  const int row = rank / n, column = rank % n;
  if (rank >= n * n) return;
  if (row != n - 1 - end) receive(back ? kNorth : kSouth);
  if (column != n - 1 - end) receive(back ? kEast : kWest);
  work(round);
  if (row != end && rank + step * n < ranks) send(rank + step * n, back ? kNorth : kSouth);
  if (column != end && rank + step < ranks) send(rank + step, back ? kEast : kWest);
}

static void exchange(int round, int distance) {
  const int up = (rank + distance) % ranks, down = (rank + ranks - distance) % ranks;
  static double out[2][kDoubles];
  MPI_Request sends[2];
  out[0][0] = out[1][0] = rank;
  MPI_Isend(out[0], kDoubles, MPI_DOUBLE, up, kSouth, MPI_COMM_WORLD, &sends[0]);
  work(round);
  MPI_Isend(out[1], kDoubles, MPI_DOUBLE, down, kNorth, MPI_COMM_WORLD, &sends[1]);
  receive(kSouth);
  receive(kNorth);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD); /* no message of the next distance comes earlier */
}

static void serve(int rounds) {
  for (int i = 0; rank == 0 && i < rounds * (ranks - 1); ++i) send(receive(kAsk), kAnswer);
  for (int i = 0; rank > 0 && i < rounds; ++i) {
    work(i);
    send(0, kAsk);
    receive(kAnswer);
  }
}

static void cancel(void) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  if (rank == 0) {
    MPI_Irecv(edge, kDoubles, MPI_DOUBLE, MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) receive(kAsk);
    sum += cancelled;
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    compute(20);
    if (rank == ranks - 1) send(0, kAsk);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int rounds = atoi(argv[2]);
  if (strcmp(argv[1], "master") == 0) serve(rounds);
  for (int round = 0; round < rounds; ++round) {
    if (strcmp(argv[1], "sweeps") == 0)
      for (int back = 0; back < 2; ++back) sweep(round, back);
    if (strcmp(argv[1], "levels") == 0)
      for (int distance = 1; distance < ranks; distance *= 2) exchange(round, distance);
    if (strcmp(argv[1], "cancel") == 0) cancel();
  }
  printf("%.17g\n", sum);
  MPI_Finalize();
  return 0;
}
