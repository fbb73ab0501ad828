/* A thread that calls MPI, after it learnt whether it may. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static void* call(void* argument) {
  MPI_Barrier(MPI_COMM_WORLD);
  return argument;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  pthread_t thread;
  pthread_create(&thread, NULL, call, NULL);
  pthread_join(thread, NULL);
  printf("provided %d\n", provided);
  MPI_Finalize();
  return 0;
}
