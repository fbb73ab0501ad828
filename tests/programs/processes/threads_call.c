/* Threads that call MPI: threads_call.c openmp|pthreads THREADS MESSAGES SEED
 * Each message goes from a random thread of a random rank to another one, by its tag; then each
 * thread reduces on a communicator of its own. Prints what each thread has received. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostThreads = 16, kMostBytes = 20000 };

static int rank, ranks, threads, messages;
static uint64_t seed;
static MPI_Comm communicators[kMostThreads];
static uint64_t received[kMostThreads];

static uint64_t mix(uint64_t x) {
  x += seed * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static int size_of(int message) { return (int)(mix(4 * (uint64_t)message + 2) % kMostBytes); }

static void fill(int message, unsigned char* data) {
  for (int i = 0; i < size_of(message); ++i) data[i] = (unsigned char)(message * 7 + i * 13);
}

static uint64_t sum_of(const unsigned char* data, int size) {
  uint64_t sum = (uint64_t)size;
  for (int i = 0; i < size; ++i) sum = sum * 31 + data[i];
  return sum;
}

static void* exchange(void* argument) {
  const int thread = (int)(intptr_t)argument;
  const int self = rank * threads + thread;
  MPI_Request* sends = malloc((size_t)messages * sizeof *sends);
  unsigned char** data = calloc((size_t)messages, sizeof *data);
  unsigned char buffer[kMostBytes];
  int sent = 0;
  for (int m = 0; m < messages; ++m) {
    const int from = (int)(mix(4 * (uint64_t)m) % (uint64_t)(ranks * threads));
    const int to = (int)(mix(4 * (uint64_t)m + 1) % (uint64_t)(ranks * threads));
    if (from == self) {
      data[sent] = malloc(kMostBytes);
      fill(m, data[sent]);
      MPI_Isend(data[sent], size_of(m), MPI_BYTE, to / threads, m, MPI_COMM_WORLD, &sends[sent]);
      ++sent;
    }
    if (to == self) {
      MPI_Status status;
      int size;
      MPI_Recv(buffer, kMostBytes, MPI_BYTE, from / threads, m, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &size);
      received[thread] = received[thread] * 131 + sum_of(buffer, size);
    }
  }
  MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < sent; ++i) free(data[i]);
  free(data);
  free(sends);
  uint64_t all = 0;
  MPI_Allreduce(&received[thread], &all, 1, MPI_UINT64_T, MPI_BXOR, communicators[thread]);
  received[thread] ^= all;
  return NULL;
}

static void run_openmp(void) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) exchange((void*)(intptr_t)i);
}

static void run_pthreads(void) {
  pthread_t started[kMostThreads];
  for (int i = 0; i < threads; ++i)
    pthread_create(&started[i], NULL, exchange, (void*)(intptr_t)i);
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5 || provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "level %d\n", provided);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  threads = atoi(argv[2]);
  messages = atoi(argv[3]);
  seed = (uint64_t)atoll(argv[4]);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[i]);
  (strcmp(argv[1], "openmp") == 0 ? run_openmp : run_pthreads)();
  for (int i = 0; i < threads; ++i)
    printf("%d.%d: %016llx\n", rank, i, (unsigned long long)received[i]);
  MPI_Finalize();
  return 0;
}
