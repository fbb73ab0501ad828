/* A token ring: every rank passes 8-byte messages to the next one.  Usage: ring [rounds] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  long token = rank;
  double begin = MPI_Wtime();
  for (int round = 0; round < rounds; round++) {
    long received;
    MPI_Sendrecv(&token, 1, MPI_LONG, next, 0, &received, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    token = received + 1;
  }
  double elapsed = MPI_Wtime() - begin;
  const long expected = ((rank - rounds) % size + size) % size + rounds;
  int wrong = token != expected, any_wrong = 0;
  MPI_Reduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("ring of %d ranks, %d rounds: %s, %.6g s\n", size, rounds, any_wrong ? "WRONG" : "correct",
           elapsed);
  MPI_Finalize();
  return any_wrong;
}
