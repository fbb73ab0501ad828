/* Each rank divides the same work between threads: threads.c openmp|pthreads THREADS */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kBlocks = 800, kSteps = 100000 };

static void compute(void) {
  volatile double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += 1.0 / (i + 1);
}

static void* compute_share(void* blocks) {
  for (long i = 0; i < (long)blocks; ++i) compute();
  return NULL;
}

static void run_openmp(int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int i = 0; i < kBlocks; ++i) compute();
}

static void run_pthreads(int threads) {
  pthread_t started[64];
  for (int i = 0; i < threads; ++i)
    pthread_create(&started[i], NULL, compute_share, (void*)(long)(kBlocks / threads));
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  (strcmp(argv[1], "openmp") == 0 ? run_openmp : run_pthreads)(atoi(argv[2]));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
