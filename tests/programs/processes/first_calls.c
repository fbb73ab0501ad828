/* Threads that have not called MPI yet while others wait for a message of theirs, on two ranks.
 * The argument says what rank 0 does. Host time is waited for without calls of MPI. */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int rank;
static char much[1 << 20];

static double host_seconds(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute(void) {
  const double end = host_seconds() + 0.5;
  while (host_seconds() < end)
    for (volatile int i = 0; i < 1000000; ++i) continue;
}

static void sleep_on_host(void) {
  const struct timespec time = {0, 500000000};
  syscall(SYS_nanosleep, &time, NULL);
}

static void send_to_itself(void) { MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }

static void receive(void) {
  int from;
  MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("received from %d at %.0f\n", from, MPI_Wtime());
  fflush(stdout);
}

/* A child of the process ends the wait. */
static void wait_for_child(void) {
  sem_t* const semaphore =
      mmap(NULL, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sem_init(semaphore, 1, 0);
  if (fork() == 0) {
    sleep_on_host();
    sem_post(semaphore);
    _exit(0);
  }
  sem_wait(semaphore);
}

static void look_for_ever(void) {
  const struct timespec time = {0, 10000000};
  for (;;) syscall(SYS_nanosleep, &time, NULL);
}

static void* run(void* way) {
  if (strcmp(way, "computes") == 0 || strcmp(way, "exits") == 0) compute();
  if (strcmp(way, "sleeps") == 0) sleep_on_host();
  if (strcmp(way, "exits") == 0) exit(3);
  if (strcmp(way, "killed") == 0) {
    sleep_on_host();
    kill(getpid(), SIGKILL);
  }
  if (strcmp(way, "waits for a child") == 0) wait_for_child();
  if (strcmp(way, "looks") == 0) look_for_ever();
  if (strcmp(way, "receives") == 0) receive();
  send_to_itself();
  return NULL;
}

/* More threads than may call at once. */
static void call_from_many(void) {
  for (int i = 0; i < 1100; ++i) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    if (pthread_create(&thread, &small, run, "receives") != 0) abort();
  }
}

static void* initialize_and_receive(void* nothing) {
  int provided;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  receive();
  return nothing;
}

/* Of rank 0, which was created before MPI was started. */
static void* compute_and_send(void* nothing) {
  compute();
  if (rank == 0) send_to_itself();
  return nothing;
}

/* Rank 0 has ended when rank 1 sends what it waits for. */
static void send_too_late(void) {
  pthread_t thread;
  if (rank == 0) {
    pthread_create(&thread, NULL, run, "killed");
    MPI_Recv(much, sizeof much, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    sleep_on_host();
    sleep_on_host();
    MPI_Send(much, sizeof much, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  pthread_t thread;
  int provided;
  if (strcmp(argv[1], "other thread starts MPI") == 0) {
    pthread_create(&thread, NULL, initialize_and_receive, NULL);
    compute();
    send_to_itself();
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
  }
  const int is_early = strcmp(argv[1], "computes from the start") == 0;
  if (is_early) pthread_create(&thread, NULL, compute_and_send, NULL);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(argv[1], "too late") == 0) {
    send_too_late();
  } else if (strcmp(argv[1], "many") == 0) {
    call_from_many();
    receive();
  } else if (rank == 0) {
    if (!is_early) pthread_create(&thread, NULL, run, argv[1]);
    if (strcmp(argv[1], "receives") == 0) pthread_exit(NULL);
    receive();
    if (argc > 2) receive();
    pthread_join(thread, NULL);
  } else if (argc > 2) {
    sleep(1);
    send_to_itself();
  }
  MPI_Finalize();
  return 0;
}
