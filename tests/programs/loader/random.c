/* All generators of the C library, with a barrier between any two draws. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void draw(const char *label) {
  unsigned short state[3] = {1, 2, 3};
  for (int i = 0; i < 40; ++i) {
    printf("%s %d %ld %.17g %ld %ld\n", label, rand(), random(), drand48(), lrand48(), mrand48());
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf("%.17g %ld %ld\n", erand48(state), nrand48(state), jrand48(state));
}

int main(int argc, char **argv) {
  char buffer[64];
  unsigned short seed[3] = {7, 8, 9}, parameters[7] = {1, 2, 3, 4, 5, 6, 7};
  MPI_Init(&argc, &argv);
  draw("unseeded");
  srand(12345);
  srand48(99);
  draw("seeded");
  char *previous = initstate(42, buffer, sizeof buffer);
  seed48(seed);
  draw("small state");
  setstate(previous);
  lcong48(parameters);
  draw("back");
  MPI_Finalize();
  return 0;
}
