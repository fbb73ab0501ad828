/* Receives from any source, as NAS benchmarks of the second version have them:
 *
 *   sources sweeps ROUNDS   LU: waves run through a square of ranks, from one corner and back; at
 *                           each rank a tag belongs to one neighbour
 *   sources levels ROUNDS   MG: neighbours are 1, 2, 4 … ranks away, with the same tags at each
 *                           distance: a tag has several sources, in a known order
 *   sources master ROUNDS   rank 0 answers the others in the order in which they ask, who have
 *                           different work to do
 *
 * In the others rank 0 receives from any source what rank 1 ("near") and the last rank ("far")
 * send. Far computes for some time of the host, but none that is simulated. If another worker
 * simulates it, rank 0 learns of its messages last, whatever their times. It sends after 10 calls.
 *
 *   sources pair CALLS      each sends one message, near after CALLS calls
 *   sources cancel CALLS    near sends after CALLS calls; far's message makes rank 0 cancel
 *   sources named FIRST     a receive names far: it is the first one, or is between two others
 *   sources large BYTES [CALLS]   far sends 10 MB, and near BYTES after CALLS calls (30)
 *   sources ties CALLS      both send at the same time; ranks of the communicator are reversed
 *
 * Each rank prints a sum of what it received, weighted by the order.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSouth, kNorth, kWest, kEast, kAsk, kAnswer };
enum { kNear = 1, kDoubles = 16, kLarge = 10000000 };

static int rank, ranks;
static double sum, weight = 1;
static double edge[kDoubles];
static char large[2][kLarge];

static void count(int source, double value) {
  sum += weight * (source + value);
  weight = weight > 1e6 ? 1 : weight * 1.01;
}

static int receive(int tag) {
  MPI_Status status;
  MPI_Recv(edge, kDoubles, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
  count(status.MPI_SOURCE, edge[0]);
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

/* Far's part of all kinds begins so. */
static void be_late(void) {
  for (volatile long i = 0; i < 200000000; ++i) {
  }
  compute(10);
}
static int is_far(void) { return rank == ranks - 1; }

static void pair(int calls) {
  if (is_far()) be_late();
  if (rank == kNear) compute(calls);
  if (rank == kNear || is_far()) send(0, kAsk);
  for (int i = 0; rank == 0 && i < 2; ++i) receive(kAsk);
}

static void cancel(int calls) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  if (rank == 0) {
    MPI_Irecv(edge, kDoubles, MPI_DOUBLE, MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &request);
    MPI_Recv(large[0], kDoubles, MPI_DOUBLE, ranks - 1, kAnswer, MPI_COMM_WORLD, &status);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) receive(kAsk);
    sum += cancelled;
  }
  if (rank == kNear) {
    compute(calls);
    send(0, kAsk);
  }
  if (is_far()) {
    be_late();
    send(0, kAnswer);
  }
}

/* If the receive that names far is between the others, in the order of arrivals: far, near, near,
 * far. Far's second message is received last. */
static void named(int is_first) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  static double values[3][kDoubles];
  if (rank == 0) {
    for (int i = 0; i < 3; ++i) {
      const int source = i == !is_first ? ranks - 1 : MPI_ANY_SOURCE;
      MPI_Irecv(values[i], kDoubles, MPI_DOUBLE, source, kAsk, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(3, requests, statuses);
    for (int i = 0; i < 3; ++i) count(statuses[i].MPI_SOURCE, values[i][0]);
    receive(kAsk);
  }
  if (is_far()) be_late();
  for (int i = 0; i < 2 && (rank == kNear || is_far()); ++i) {
    compute(is_far() ? 400 * i : 100);
    send(0, kAsk);
  }
}

static void send_large(int bytes, int calls) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (rank == 0) {
    for (int i = 0; i < 2; ++i)
      MPI_Irecv(large[i], kLarge, MPI_CHAR, MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(2, requests, statuses);
    for (int i = 0; i < 2; ++i) count(statuses[i].MPI_SOURCE, 0);
  }
  if (rank == kNear) compute(calls);
  if (is_far()) be_late();
  if (rank == kNear || is_far())
    MPI_Send(large[0], is_far() ? kLarge : bytes, MPI_CHAR, 0, kAsk, MPI_COMM_WORLD);
}

static void tie(void) {
  MPI_Comm reverse;
  MPI_Status status;
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reverse);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == kNear) compute(10);
  if (is_far()) be_late();
  if (rank == kNear || is_far())
    MPI_Send(edge, kDoubles, MPI_DOUBLE, ranks - 1, kAsk, reverse);
  for (int i = 0; rank == 0 && i < 2; ++i) {
    MPI_Recv(edge, kDoubles, MPI_DOUBLE, MPI_ANY_SOURCE, kAsk, reverse, &status);
    count(status.MPI_SOURCE, 0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int rounds = atoi(argv[2]);
  if (strcmp(argv[1], "master") == 0) serve(rounds);
  if (strcmp(argv[1], "pair") == 0) pair(rounds);
  if (strcmp(argv[1], "cancel") == 0) cancel(rounds);
  if (strcmp(argv[1], "named") == 0) named(rounds);
  if (strcmp(argv[1], "large") == 0) send_large(rounds, argc > 3 ? atoi(argv[3]) : 30);
  if (strcmp(argv[1], "ties") == 0) tie();
  for (int round = 0; round < rounds; ++round) {
    if (strcmp(argv[1], "sweeps") == 0)
      for (int back = 0; back < 2; ++back) sweep(round, back);
    if (strcmp(argv[1], "levels") == 0)
      for (int distance = 1; distance < ranks; distance *= 2) exchange(round, distance);
  }
  printf("%.17g\n", sum);
  MPI_Finalize();
  return 0;
}
