// Functions that MPI calls, each in the last, or left by longjmp().
// nested returns|jumps N: an error handler that makes the same error again, N times in all.
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int most, times, is_left;
static jmp_buf outside;

static void fail(void) { MPI_Send(NULL, 0, MPI_INT, 99, 0, MPI_COMM_WORLD); }

static void handle(MPI_Comm* comm, int* error, ...) {
  (void)comm, (void)error;
  ++times;
  if (is_left) longjmp(outside, 1);
  if (times < most) fail();
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  is_left = strcmp(argv[1], "jumps") == 0;
  most = atoi(argv[2]);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  do {
    if (setjmp(outside) == 0) fail();
  } while (times < most);
  printf("%d times\n", times);
  MPI_Finalize();
  return 0;
}
