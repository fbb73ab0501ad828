/* opens_plugin LIBRARY: calls its function plug twice, with a barrier between. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) {
    printf("%s\n", dlerror());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  int (*plug)(int) = (int (*)(int))dlsym(library, "plug");
  int first = plug(rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d gave %d and %d\n", rank, first, plug(rank + 1));
  MPI_Finalize();
  return 0;
}
