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
  char* const directory = strdup(path);
  const char* const name = strrchr(path, '/') + 1;
  directory[name - path - 1] = '\0';
  char search[8192];
  snprintf(search, sizeof search, "/nonexistent:%s", directory);
  setenv("PATH", search, 1);
  if (strcmp(way, "execl") == 0) execl(path, path, "again", (char*)NULL);
  if (strcmp(way, "execle") == 0) execle(path, path, "again", (char*)NULL, environ);
  if (strcmp(way, "execlp") == 0) execlp(name, path, "again", (char*)NULL);
  if (strcmp(way, "execve") == 0) execve(path, argv, environ);
  if (strcmp(way, "execvp") == 0) execvp(name, argv);
  if (strcmp(way, "execvpe") == 0) execvpe(name, argv, environ);
  if (strcmp(way, "fexecve") == 0) fexecve(open(path, O_RDONLY), argv, environ);
  if (strcmp(way, "execveat") == 0) execveat(open(directory, O_PATH), name, argv, environ, 0);
  if (strcmp(way, "here") == 0 && chdir(directory) == 0 && setenv("PATH", "/nonexistent:", 1) == 0)
    execvp(name, argv);
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
  execv("/tmp", argv);
  char* arguments[] = {path, "again", NULL};
  execute(way, path, arguments);
  return 1;
}
