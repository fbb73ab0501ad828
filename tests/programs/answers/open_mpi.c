/* What a program can ask Open MPI for beside MPI: variables of the environment, and extensions. */
#include <mpi.h>

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

static void show_environment(void) {
  /* OMPI_UNIVERSE_SIZE depends on the machine. */
  static const char* const names[] = {
      "OMPI_COMM_WORLD_RANK",       "OMPI_COMM_WORLD_SIZE",      "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK", "OMPI_NUM_APP_CTX",
      "OMPI_FIRST_RANKS",           "OMPI_APP_CTX_NUM_PROCS",    "OMPI_ARGV"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* value = getenv(names[i]);
    printf("%d: %s=%s\n", rank, names[i], value == NULL ? "unset" : value);
  }
  printf("%d: universe %d, command %d\n", rank, atoi(getenv("OMPI_UNIVERSE_SIZE")) > 0,
         strlen(getenv("OMPI_COMMAND")) > 0);
}

static void add_twice(void) {
  int mine = rank + 1, sum = 0;
  MPI_Request request;
  MPIX_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; ++i) {
    mine += 10 * i;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d: sum %d\n", rank, sum);
  }
  MPI_Request_free(&request);
  int all[64] = {0};
  PMPIX_Allgather_init(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("%d: gathered %d %d\n", rank, all[0], all[1]);
  MPI_Request_free(&request);
}

static void use_tools(void) {
  int provided, variables = -1, performance = -1, categories = -1, index;
  printf("%d: tools %d\n", rank, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_T_cvar_get_num(&variables);
  MPI_T_pvar_get_num(&performance);
  MPI_T_category_get_num(&categories);
  printf("%d: counted %d %d %d\n", rank, variables >= 0, performance >= 0, categories >= 0);
  printf("%d: unknown name %d\n", rank,
         MPI_T_cvar_get_index("of no MPI", &index) == MPI_T_ERR_INVALID_NAME);
  MPI_T_finalize();
}

int main(int argc, char** argv) {
  const char* before = getenv("OMPI_COMM_WORLD_RANK"); /* before MPI_Init */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d: was %s\n", rank, before == NULL ? "unset" : before);
  show_environment();
  add_twice();
  use_tools();
  char bound[OMPI_AFFINITY_STRING_MAX], now[OMPI_AFFINITY_STRING_MAX],
      there[OMPI_AFFINITY_STRING_MAX];
  printf("%d: cuda %d, affinity %d\n", rank, MPIX_Query_cuda_support(),
         OMPI_Affinity_str(OMPI_AFFINITY_RSRC_STRING_FMT, bound, now, there));
  MPI_Finalize();
  return 0;
}
