// Every rank exchanges messages with all others: pairs BYTES ROUNDS.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = atoi(argv[1]);
  const int rounds = atoi(argv[2]);
  char* out = calloc((size_t)bytes, 1);
  char* in = calloc((size_t)bytes, 1);
  for (int round = 0; round < rounds; ++round) {
    for (int distance = 1; distance < ranks; ++distance) {
      MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + distance) % ranks, 0, in, bytes, MPI_CHAR,
                   (rank - distance + ranks) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
