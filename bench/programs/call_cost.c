/* The time of one MPI call, in ns: a line for each of BATCHES short batches.
 *
 *   call_cost pingpong BATCHES ROUNDS     per call of rank 0, which makes two in a round
 *   call_cost send|receive|nonblocking|allreduce BATCHES ROUNDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double data[2];

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void pingpong(int rank) {
  if (rank == 0) {
    MPI_Send(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
    MPI_Recv(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(data, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD);
  }
}

static void send(int rank) {
  (void)rank;
  MPI_Send(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
}

static void receive(int rank) {
  (void)rank;
  MPI_Recv(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nonblocking(int rank) {
  (void)rank;
  MPI_Request request;
  MPI_Irecv(data, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce(int rank) {
  (void)rank;
  MPI_Allreduce(data, data + 1, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*round)(int rank);
  int calls;
} kinds[] = {{"pingpong", pingpong, 2},
             {"send", send, 1},
             {"receive", receive, 1},
             {"nonblocking", nonblocking, 2},
             {"allreduce", allreduce, 1}};

int main(int argc, char** argv) {
  int rank = 0;
  size_t kind = 0;
  if (argc != 4) return 2;
  while (kind < sizeof kinds / sizeof *kinds && strcmp(argv[1], kinds[kind].name) != 0) ++kind;
  if (kind == sizeof kinds / sizeof *kinds) return 2;
  int batches = atoi(argv[2]);
  int rounds = atoi(argv[3]);
  MPI_Init(&argc, &argv);
#ifndef IDLE_MPI
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  for (int batch = -3; batch < batches; ++batch) { /* the first three are not counted */
    double begin = now_ns();
    for (int i = 0; i < rounds; ++i) kinds[kind].round(rank);
    double end = now_ns();
    if (rank == 0 && batch >= 0) printf("%.2f\n", (end - begin) / rounds / kinds[kind].calls);
  }
  MPI_Finalize();
  return 0;
}
