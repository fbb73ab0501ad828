/* exits HOW: ends rank 1 in one of many ways; rank 0 returns 0. */
#include <assert.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void first(void) { puts("registered first"); }
static void second(void) { puts("registered second"); }
static void again(void) {
  puts("exits again");
  exit(9);
}
static void with_status(int status, void* argument) {
  printf("status %d %s\n", status, (char*)argument);
}
/* Ends a child that this process has forked in this way; returns the status of waitpid(). */
static int end_child(const char* how) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(how, "quick") == 0) quick_exit(22);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "raise") == 0) raise(SIGTERM);
    if (strcmp(how, "crash") == 0) *(volatile int*)8 = 1;
    _exit(21);
  }
  waitpid(child, &status, 0);
  return status;
}

static void quick(void) { (void)!write(1, "quick handler\n", 14); }

__attribute__((constructor)) static void construct(void) { puts("constructor"); }
__attribute__((destructor)) static void destroy(void) { puts("destructor"); }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* how = argc > 1 ? argv[1] : "return";
  printf("before");
  if (rank == 0) return 0;
  atexit(first);
  atexit(second);
  at_quick_exit(quick);
  on_exit(with_status, "of on_exit");
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "again") == 0) {
    atexit(again);
    exit(3);
  }
  if (strcmp(how, "_exit") == 0) _exit(4);
  if (strcmp(how, "quick") == 0) quick_exit(5);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "assert") == 0) assert(rank == 7);
  if (strcmp(how, "raise") == 0) raise(SIGTERM);
  if (strncmp(how, "fork ", 5) == 0) {
    const int status = end_child(how + 5);
    exit(WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status));
  }
  if (strcmp(how, "never") == 0)
    for (volatile long i = 0;; ++i) continue;
  if (strcmp(how, "large") == 0) return 256 + 7;
  return 6;
}
