/* The clocks of threads that call MPI, on two ranks. Prints what the time is, in whole seconds.
 * With an argument, the message that rank 0 waits for does not come. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int rank;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int has_message;

static void print_time(const char* when) {
  printf("%d: %s %.0f\n", rank, when, MPI_Wtime());
  fflush(stdout);
}

static void* sleep_seconds(void* seconds) {
  int is_main = 1;
  MPI_Is_thread_main(&is_main); /* it is a thread that calls MPI from here on */
  if (is_main) printf("wrong\n");
  sleep((unsigned)(long)seconds);
  return NULL;
}

static void run(void* (*function)(void*), int count, const long* arguments) {
  pthread_t threads[8];
  for (int i = 0; i < count; ++i)
    pthread_create(&threads[i], NULL, function, (void*)arguments[i]);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

/* Receives and notifies the other. */
static void* receive(void* nothing) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_mutex_lock(&mutex);
  has_message = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return nothing;
}

/* Has called before, so that the simulator knows it while it waits for the other. */
static void* wait_for_it(void* nothing) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pthread_mutex_lock(&mutex);
  while (!has_message) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  print_time("notified at");
  return nothing;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  print_time("begins at");
  run(sleep_seconds, 3, (const long[]){1, 2, 1});
  print_time("all have slept at");
  if (rank == 0) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, wait_for_it, NULL);
    pthread_create(&threads[1], NULL, receive, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
  } else if (argc > 1) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    sleep(3);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  print_time("ends at");
  MPI_Finalize();
  return 0;
}
