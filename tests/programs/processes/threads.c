/* Each rank divides the same work between threads: threads.c openmp|pthreads|calling THREADS
 * (calling: each of these calls MPI before and after its share) */
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

static void* compute_between_calls(void* blocks) {
  int is_initialized;
  MPI_Initialized(&is_initialized);
  compute_share(blocks);
  MPI_Initialized(&is_initialized);
  return NULL;
}

static void run_openmp(int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int i = 0; i < kBlocks; ++i) compute();
}

static void run_pthreads(void* (*function)(void*), int threads) {
  pthread_t started[64];
  for (int i = 0; i < threads; ++i)
    pthread_create(&started[i], NULL, function, (void*)(long)(kBlocks / threads));
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
}

int main(int argc, char** argv) {
  const int threads = atoi(argv[2]);
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (strcmp(argv[1], "openmp") == 0) {
    run_openmp(threads);
  } else {
    run_pthreads(strcmp(argv[1], "calling") == 0 ? compute_between_calls : compute_share, threads);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
