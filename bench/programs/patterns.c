// Messages in a pattern: prints the time of a round in microseconds, on rank 0.
//
//   patterns PATTERN BYTES ROUNDS
//
// pingpong: ranks 0 and 1; stream: rank 0 to 1, all rounds in flight; incast: all to rank 0;
// shift: each to the next, from the one before; exchange: all to all at once.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, bytes;
static char *out, *in;

static void pingpong(int rounds) {
  for (int i = 0; i < rounds && rank < 2; ++i) {
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}

static void stream(int rounds) {
  MPI_Request* requests = malloc((size_t)rounds * sizeof *requests);
  for (int i = 0; i < rounds && rank < 2; ++i) {
    if (rank == 0) {
      MPI_Isend(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
  }
  if (rank < 2) MPI_Waitall(rounds, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void incast(int rounds) {
  MPI_Request* requests = malloc((size_t)ranks * sizeof *requests);
  for (int i = 0; i < rounds; ++i) {
    if (rank > 0) {
      MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
      continue;
    }
    for (int from = 1; from < ranks; ++from) {
      MPI_Irecv(in + (size_t)from * (size_t)bytes, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD,
                &requests[from - 1]);
    }
    MPI_Waitall(ranks - 1, requests, MPI_STATUSES_IGNORE);
  }
  free(requests);
}

static void shift(int rounds) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  for (int i = 0; i < rounds; ++i) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, next, 0, in, bytes, MPI_CHAR, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
}

static void exchange(int rounds) {
  MPI_Request* requests = malloc(2 * (size_t)ranks * sizeof *requests);
  for (int i = 0; i < rounds; ++i) {
    for (int step = 1; step < ranks; ++step) {
      const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
      MPI_Irecv(in + (size_t)from * (size_t)bytes, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD,
                &requests[2 * step - 2]);
      MPI_Isend(out, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[2 * step - 1]);
    }
    MPI_Waitall(2 * (ranks - 1), requests, MPI_STATUSES_IGNORE);
  }
  free(requests);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(int rounds);
  } patterns[] = {{"pingpong", pingpong},
                  {"stream", stream},
                  {"incast", incast},
                  {"shift", shift},
                  {"exchange", exchange}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bytes = argc > 3 ? atoi(argv[2]) : 0;
  const int rounds = argc > 3 ? atoi(argv[3]) : 0;
  const size_t all = (size_t)ranks * (size_t)bytes + 1;
  out = calloc(all, 1);
  in = calloc(all, 1);
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
    if (argc < 4 || strcmp(argv[1], patterns[i].name) != 0) continue;
    patterns[i].run(1);  // makes the connections
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    patterns[i].run(rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%.3f\n", (MPI_Wtime() - begin) / rounds * 1e6);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
