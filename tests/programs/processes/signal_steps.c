/* A signal after each instruction of a call of the C library, in turn: its handler makes a call,
 * too. Prints how many instructions there were, at least. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long steps; /* since the call began */
static volatile long chosen;

static void on_step(int signal) {
  (void)signal;
  ++steps;
  if (steps == chosen || steps == chosen + 1) isatty(-1);
}

/* The processor's trap flag: a signal after each instruction. */
#define BELOW_RED_ZONE(code) \
  __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n" code "\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc")

int main(int count, char** words) {
  MPI_Init(&count, &words);
  struct sigaction action = {0};
  action.sa_handler = on_step;
  sigaction(SIGTRAP, &action, NULL);
  long most = 200, wrong = 0;
  for (chosen = 1; chosen <= most; ++chosen) {
    steps = 0;
    BELOW_RED_ZONE("orq $0x100, (%%rsp)");
    const int is_terminal = isatty(-1);
    BELOW_RED_ZONE("andq $~0x100, (%%rsp)");
    wrong += is_terminal != 0;
    if (steps < most) most = steps;
  }
  printf("%s steps, %ld wrong answers\n", most > 20 ? "many" : "few", wrong);
  MPI_Finalize();
  return 0;
}
