// Executes itself once, in the way that is named: before MPI_Init, or after it ("late").
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

static void execute(const char* way, const char* path, char** argv) {
  if (strcmp(way, "execl") == 0) execl(path, path, "again", (char*)NULL);
  if (strcmp(way, "execvp") == 0) execvp(path, argv);
  if (strcmp(way, "fexecve") == 0) fexecve(open(path, O_RDONLY), argv, environ);
  execv(path, argv);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "execv";
  char path[4096];
  if (strcmp(way, "again") == 0) {
    MPI_Init(&argc, &argv);
    int rank, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d, sum %d\n", rank, sum);
    return MPI_Finalize();
  }
  if (strcmp(way, "late") == 0) MPI_Init(&argc, &argv);
  path[readlink("/proc/self/exe", path, sizeof path - 1)] = '\0';
  execv("/nonexistent/program", argv);
  char* arguments[] = {path, "again", NULL};
  execute(way, path, arguments);
  return 1;
}
