/* Rank 0 receives 4-byte messages from all other ranks.
 * Usage: anysource [rounds [way]], the way one of
 *   any      from any source (the usual one)
 *   named    from each source in turn
 *   tags     from any source, with a tag for each round that is sent last first
 *   probe    MPI_Probe from any source, then a receive from who was found
 *   iprobe   the same with MPI_Iprobe
 *   workers  from any source, and each message is answered: a master and its workers */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int size;

static int find_sender(const char *way, int number) {
  MPI_Status status;
  int found = 0;
  if (strcmp(way, "named") == 0) return number;
  if (strcmp(way, "probe") == 0) {
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    return status.MPI_SOURCE;
  }
  if (strcmp(way, "iprobe") == 0) {
    while (!found) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &status);
    return status.MPI_SOURCE;
  }
  return MPI_ANY_SOURCE;
}

static long receive_all(const char *way, int rounds) {
  const int by_tag = strcmp(way, "tags") == 0, answers = strcmp(way, "workers") == 0;
  long sum = 0;
  for (int round = 0; round < rounds; round++) {
    for (int number = 1; number < size; number++) {
      int value;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, find_sender(way, number), by_tag ? round : 0,
               MPI_COMM_WORLD, &status);
      sum += value;
      if (answers) MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    }
  }
  return sum;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  const char *way = argc > 2 ? argv[2] : "any";
  int wrong = 0;
  if (rank == 0) {
    wrong = receive_all(way, rounds) != (long)rounds * size * (size - 1) / 2;
    printf("from %d ranks, %d rounds: %s\n", size - 1, rounds, wrong ? "WRONG" : "correct");
  }
  for (int round = rounds - 1; rank != 0 && round >= 0; round--) {
    int answer;
    MPI_Send(&rank, 1, MPI_INT, 0, strcmp(way, "tags") == 0 ? round : 0, MPI_COMM_WORLD);
    if (strcmp(way, "workers") != 0) continue;
    MPI_Recv(&answer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong |= answer != rank;
  }
  MPI_Finalize();
  return wrong;
}
