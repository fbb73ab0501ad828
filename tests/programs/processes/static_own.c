/* What a program and its C library have once: its name, its working directory, errno, memory, jumps
   out of calls, signals that come while MPI runs, children. Prints what is
   wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int right, const char* what) {
  if (!right) printf("wrong: %s\n", what);
}

static void names(const char* own) {
  char path[PATH_MAX], real[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
  check(realpath(own, real) != NULL && strcmp(path, real) == 0, "the link to the program");
  char* const directory = getcwd(NULL, 0);
  check(getcwd(real, sizeof real) != NULL && strcmp(directory, real) == 0, "the directory");
  free(directory);
}

static void errors(void) {
  errno = 0;
  check(open("/none/such", O_RDONLY) == -1 && errno == ENOENT, "errno of open");
  errno = EBADMSG;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Wtime();
  check(errno == EBADMSG, "errno after a call");
}

/* More than the C library keeps, by small blocks, twice: what was given back must be zero again. */
static void memory(void) {
  enum { kBlocks = 4000, kBytes = 5000 };
  static char* blocks[kBlocks];
  for (int round = 0; round < 2; ++round) {
    int zeros = 1;
    for (int i = 0; i < kBlocks; ++i) {
      blocks[i] = calloc(1, kBytes);
      for (int at = 0; at < kBytes; ++at) zeros &= blocks[i][at] == 0;
      memset(blocks[i], 1 + round, kBytes);
    }
    check(zeros, "memory of calloc");
    for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  }
}

static sigjmp_buf back;

static void leave(int number) {
  (void)number;
  siglongjmp(back, 1);
}

/* More calls are left than could be in each other. */
static void jumps(void) {
  int ends[2];
  volatile int jumped = 0;
  check(pipe(ends) == 0, "pipe");
  close(ends[0]);
  signal(SIGPIPE, leave);
  for (volatile int i = 0; i < 5000; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      check(write(ends[1], "x", 1) == 0, "a pipe that nothing reads");
    } else {
      ++jumped;
    }
  }
  signal(SIGPIPE, SIG_DFL);
  close(ends[1]);
  check(jumped == 5000, "jumps");
}

static volatile int alarms;
static __thread int own_data = 7;

static void on_alarm(int number) {
  (void)number;
  if (own_data == 7) ++alarms;
}

static void signals(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGALRM, NULL, &before);
  check(before.sa_handler == on_alarm, "the handler of a signal");
  const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (alarms < 20) MPI_Barrier(MPI_COMM_SELF);
  setitimer(ITIMER_REAL, &never, NULL);
}

static void children(void) {
  int ends[2], status;
  char letter = 0;
  check(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) _exit(write(ends[1], "x", 1) == 1 ? 3 : 4);
  check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3, "the child's status");
  check(read(ends[0], &letter, 1) == 1 && letter == 'x', "what the child wrote");
  check(system("exit 5") == 5 << 8, "the status of a command");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  names(argv[0]);
  errors();
  memory();
  jumps();
  signals();
  children();
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d: all looked at\n", rank);
  MPI_Finalize();
  return 0;
}
