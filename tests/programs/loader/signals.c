/* signals HOW: handlers of the rank's own, and faults. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static sigjmp_buf back;
static volatile int handled;

static void on_user(int number) { handled += number; }
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  printf("rank %d caught %d at %p\n", rank, number, info->si_addr);
  siglongjmp(back, 1);
}

static int overflow(volatile char *caller) {
  volatile char frame[4096];
  frame[0] = caller[0];
  return overflow(frame) + frame[0];
}

__attribute__((noinline)) void fault_here(void) { *(volatile int *)0x10 = 1; }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char *how = argc > 1 ? argv[1] : "user";
  if (strcmp(how, "user") == 0) {
    if (rank == 0) signal(SIGUSR1, on_user);
    MPI_Barrier(MPI_COMM_WORLD);
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    printf("%s\n", now.sa_handler == on_user ? "own" : "default");
    if (rank == 0) {
      raise(SIGUSR1);
      kill(getpid(), SIGUSR1);
      printf("handled %d\n", handled);
    }
  }
  if (strcmp(how, "caught") == 0) {
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 3; ++i)
      if (sigsetjmp(back, 1) == 0) fault_here();
  }
  if (rank == 1 && strcmp(how, "fault") == 0) fault_here();
  if (rank == 1 && strcmp(how, "overflow") == 0) {
    volatile char c = 1;
    return overflow(&c);
  }
  volatile int zero = argc - 2;
  if (rank == 1 && strcmp(how, "divide") == 0) zero = 100 / zero;
  MPI_Finalize();
  return 0;
}
