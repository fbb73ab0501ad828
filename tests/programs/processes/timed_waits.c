/* Waits with a time limit: one that comes, and one that never does. Prints the simulated time. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_notified; /* under the mutex */
static sem_t semaphore;

static int wait_for_condition(clockid_t clock, const struct timespec* limit) {
  (void)clock;
  pthread_mutex_lock(&mutex);
  int error = 0;
  while (!is_notified && error == 0) error = pthread_cond_timedwait(&condition, &mutex, limit);
  pthread_mutex_unlock(&mutex);
  return error;
}

static int wait_for_condition_by(clockid_t clock, const struct timespec* limit) {
  pthread_mutex_lock(&mutex);
  int error = 0;
  while (!is_notified && error == 0)
    error = pthread_cond_clockwait(&condition, &mutex, clock, limit);
  pthread_mutex_unlock(&mutex);
  return error;
}

static int wait_for_semaphore(clockid_t clock, const struct timespec* limit) {
  (void)clock;
  return sem_timedwait(&semaphore, limit) == 0 ? 0 : errno;
}

static int wait_for_semaphore_by(clockid_t clock, const struct timespec* limit) {
  return sem_clockwait(&semaphore, clock, limit) == 0 ? 0 : errno;
}

/* Ends the waits of the main thread after some host time: it has not called MPI. */
static void* notify(void* nothing) {
  usleep(200000);
  pthread_mutex_lock(&mutex);
  is_notified = 1;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  sem_post(&semaphore);
  return nothing;
}

static void check(const char* name, clockid_t clock,
                  int (*wait)(clockid_t, const struct timespec*)) {
  struct timespec limit;
  clock_gettime(clock, &limit);
  const double begin = MPI_Wtime();
  limit.tv_nsec += 300000000;
  limit.tv_sec += limit.tv_nsec / 1000000000;
  limit.tv_nsec %= 1000000000;
  const int late = wait(clock, &limit);
  const double passed = MPI_Wtime() - begin;
  pthread_t thread;
  pthread_create(&thread, NULL, notify, NULL);
  const struct timespec never = {LONG_MAX, 999999999}, invalid = {0, -1};
  const int notified = wait(clock, &never);
  pthread_join(thread, NULL);
  is_notified = 0;
  while (sem_trywait(&semaphore) == 0) continue;
  printf("%s %s %.2f, never %s %.2f, invalid %s\n", name, late == ETIMEDOUT ? "late" : "wrong",
         passed, notified == 0 ? "notified" : "wrong", MPI_Wtime() - begin - passed,
         wait(clock, &invalid) == EINVAL ? "refused" : "wrong");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  sem_init(&semaphore, 0, 0);
  check("timed condition", CLOCK_REALTIME, wait_for_condition);
  check("condition by the calendar", CLOCK_REALTIME, wait_for_condition_by);
  check("condition by the clock of the run", CLOCK_MONOTONIC, wait_for_condition_by);
  check("timed semaphore", CLOCK_REALTIME, wait_for_semaphore);
  check("semaphore by the calendar", CLOCK_REALTIME, wait_for_semaphore_by);
  check("semaphore by the clock of the run", CLOCK_MONOTONIC, wait_for_semaphore_by);
  MPI_Finalize();
  return 0;
}
