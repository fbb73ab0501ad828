/* For programs whose choices a seed determines: NAME SEED [FILE]. */
#include <mpi.h>
#include <stdlib.h>

static int rank, ranks;
static unsigned seed;
static const char* file_name;
static unsigned state; /* of next(), another one for each rank */

/* Instead of MPI_Init. */
static void begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  file_name = argc > 2 ? argv[2] : "file";
  state = seed * 1000u + (unsigned)rank;
}

/* A random number below the limit. Constants: Numerical Recipes, 2nd edition, section 7.1. */
static unsigned next(unsigned limit) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % limit;
}
