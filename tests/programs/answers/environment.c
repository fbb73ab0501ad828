/* What a rank can ask about itself and its surroundings; the same under any MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int started; /* private to each rank */

int main(int argc, char **argv) {
  started++;
  MPI_Init(&argc, &argv);
  int rank, size, flag, *tag_ub, length, version, subversion;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; i++) printf("rank %d: argument %d is '%s'\n", rank, i, argv[i]);
  printf("rank %d of %d, started %d times\n", rank, size, started);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
  printf("rank %d: tags reach 32767: %d\n", rank, flag && *tag_ub >= 32767);
  char name[MPI_MAX_PROCESSOR_NAME], directory[4096];
  MPI_Get_processor_name(name, &length);
  printf("rank %d: node has a name: %d\n", rank, length > 0 && (int)strlen(name) == length);
  MPI_Get_version(&version, &subversion);
  printf("rank %d: MPI %d or later\n", rank, version >= 3 ? 3 : version);
  printf("rank %d: works somewhere: %d\n", rank, getcwd(directory, sizeof directory) != NULL);
  const double before = MPI_Wtime();
  usleep(2000);
  const double slept = MPI_Wtime() - before;
  printf("rank %d: slept at least 2 ms: %d, less than a second: %d\n", rank, slept >= 0.002,
         slept < 1.0);
  setenv("SESAME_TEST_RANK", rank % 2 ? "odd" : "even", 1);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: environment says %s\n", rank, getenv("SESAME_TEST_RANK"));
  srand(rank + 1);
  int first = rand();
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: random %d %d\n", rank, first, rand());
  char text[] = "a-b-c", *part = strtok(text, "-");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: %s then %s\n", rank, part, strtok(NULL, "-"));
  MPI_Finalize();
  return 0;
}
