// random_types [first seed] [number of types] [1 to count the elements of cut types too]
// Prints what MPI says about that many random datatypes (random_types.h).
#include <mpi.h>

#include "random_types.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int first = argc > 1 ? atoi(argv[1]) : 1;
  const int count = argc > 2 ? atoi(argv[2]) : 500;
  counts_cuts = argc > 3 && atoi(argv[3]) != 0;
  for (int seed = first; seed < first + count; ++seed) print_type(seed);
  MPI_Finalize();
  return 0;
}
