/* Four threads of each rank make communicators and send to the same thread of the next rank, all
 * at once. Prints the sum of what rank 0 received. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 15 };

static int rank, size;
static MPI_Comm comms[THREADS];
static long sums[THREADS];
static pthread_barrier_t all_here; /* a thread that is over early lends its stream to another */

static void* work(void* number) {
  long thread = (long)number;
  pthread_barrier_wait(&all_here);
  for (int i = 0; i < ROUNDS; ++i) {
    int given = i + rank, taken = -1;
    MPI_Comm copy;
    MPI_Request request;
    MPI_Irecv(&taken, 1, MPI_INT, (rank + size - 1) % size, i, comms[thread], &request);
    MPI_Send(&given, 1, MPI_INT, (rank + 1) % size, i, comms[thread]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup(comms[thread], &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    sums[thread] += taken;
  }
  pthread_barrier_wait(&all_here);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t threads[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_barrier_init(&all_here, NULL, THREADS);
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  if (rank == 0) printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
  MPI_Finalize();
  return 0;
}
