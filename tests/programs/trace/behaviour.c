/* Programs that a tracer could disturb. `argv[1]` says which; each prints what it saw, and how
 * many calls it made if that matters. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[512];

static int data_file(const char* name) { return open(name, O_RDWR | O_CREAT | O_TRUNC, 0600); }

/* --- Threads ---------------------------------------------------------------------------------- */

static void* write_thousand(void* argument) {
  int file = *(int*)argument;
  for (int i = 0; i < 1000; ++i) (void)!pwrite(file, block, sizeof block, i * 512);
  return NULL;
}

/* Two generations of 64 threads. */
static int threads(void) {
  pthread_t running[64];
  int file = data_file("threads");
  for (int generation = 0; generation < 2; ++generation) {
    for (int i = 0; i < 64; ++i) pthread_create(&running[i], NULL, write_thousand, &file);
    for (int i = 0; i < 64; ++i) pthread_join(running[i], NULL);
  }
  printf("128000 calls\n");
  return 0;
}

static void* write_for_ever(void* argument) {
  while (pwrite(*(int*)argument, block, 1, 0) == 1) {
  }
  return NULL;
}

/* The program ends while threads write. */
static int busy_at_the_end(void) {
  static int file;
  pthread_t thread;
  file = data_file("busy");
  for (int i = 0; i < 4; ++i) pthread_create(&thread, NULL, write_for_ever, &file);
  usleep(50000);
  return 0;
}

/* A thread that is cancelled in a read. */
static void* read_for_ever(void* argument) {
  while (read(*(int*)argument, block, 1) >= 0) {
  }
  return NULL;
}

static int cancelled(void) {
  int pipes[2];
  void* result;
  pthread_t thread;
  if (pipe(pipes) != 0) return 1;
  pthread_create(&thread, NULL, read_for_ever, &pipes[0]);
  usleep(20000);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
  return 0;
}

/* --- Signals ---------------------------------------------------------------------------------- */

static volatile long handled;
static int log_file;

static void handle(int number) {
  int saved = errno;
  (void)number;
  handled++;
  (void)!write(log_file, "signal\n", 7);
  errno = saved;
}

/* An alarm every 50 us, whose handler writes, while the program does. */
static int storm(void) {
  struct itimerval every = {{0, 50}, {0, 50}};
  struct itimerval never = {{0, 0}, {0, 0}};
  long calls = 0, wrong = 0;
  int file = data_file("storm");
  log_file = data_file("storm.log");
  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &every, NULL);
  for (int i = 0; i < 100000 || handled < 200; ++i, ++calls) {
    errno = 77;
    ssize_t moved = pwrite(file, block, 64, (i & 1023) * 64);
    if (moved != 64 || errno != 77) wrong++;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%ld calls %ld wrong\n", calls + handled, wrong);
  return 0;
}

/* Writes until it is killed, and writes to its parent's pipe when it has started. */
static int endless(void) {
  int file = data_file("endless");
  puts("ready");
  fflush(stdout);
  while (pwrite(file, block, 64, 0) == 64) {
  }
  return 1;
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* No file may grow beyond 100,000 bytes; who tries gets a signal. */
static int small_files(void) {
  struct rlimit limit = {100000, 100000};
  long calls = 0;
  setrlimit(RLIMIT_FSIZE, &limit);
  int file = data_file("small");
  for (int i = 0; i < 100000; ++i, ++calls) (void)!pwrite(file, block, 64, 0);
  printf("%ld calls\n", calls);
  return 0;
}

/* No descriptor is left for the tracer. */
static int few_descriptors(void) {
  struct rlimit limit = {16, 16};
  setrlimit(RLIMIT_NOFILE, &limit);
  int file = data_file("few"), opened = 1, other;
  while ((other = open("/dev/null", O_RDONLY)) >= 0) ++opened;
  int error = errno;
  for (int i = 0; i < 20000; ++i) (void)!pwrite(file, block, 64, 0);
  printf("opened %d, then %s\n", opened, strerror(error));
  return 0;
}

static int in_a_chroot(void) {
  int file = data_file("rooted");
  if (mkdir("root", 0700) != 0 || chroot("root") != 0 || chdir("/") != 0) return 1;
  for (int i = 0; i < 20000; ++i) (void)!pwrite(file, block, 64, 0);
  puts("done");
  return 0;
}

/* --- Descriptors ------------------------------------------------------------------------------ */

/* The descriptors of standard output and error come to stand for files of data. */
static int without_output(void) {
  close(1);
  close(2);
  int first = data_file("first"), second = data_file("second");
  for (int i = 0; i < 10000; ++i) {
    (void)!write(first, "first ", 6);
    (void)!write(second, "second ", 7);
  }
  return first == 1 && second == 2 ? 0 : 1;
}

/* What daemons do. */
static int daemonise(void) {
  pid_t child = fork();
  if (child != 0) {
    int status;
    waitpid(child, &status, 0);
    return status;
  }
  setsid();
  for (int i = 0; i < 256; ++i) close(i);
  int file = data_file("daemon");
  for (int i = 0; i < 5000; ++i) (void)!write(file, "line\n", 5);
  return file == 0 ? 0 : 1;
}

static int forks(void) {
  int status, file = data_file("forks");
  for (int i = 0; i < 4; ++i) {
    if (fork() == 0) {
      for (int j = 0; j < 100; ++j) (void)!pwrite(file, block, 64, 64 * j);
      _exit(0);
    }
  }
  for (int i = 0; i < 4; ++i) wait(&status);
  pid_t child = vfork();
  if (child == 0) {
    execl("/bin/cp", "cp", "forks", "copied", (char*)NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  printf("status %d\n", status);
  return 0;
}

/* A child of vfork has its parent's variables, and its own descriptors. */
static int borrows(void) {
  static volatile int seen;
  int status, file = data_file("borrowed");
  pid_t child = vfork();
  if (child == 0) {
    close(file);
    execl("/not/there", "x", (char*)NULL);
    seen = errno;
    _exit(7);
  }
  waitpid(child, &status, 0);
  printf("%d %d %zd\n", status, seen, write(file, "abc", 3));
  return 0;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int (*run)(void);
  } programs[] = {{"threads", threads},
                  {"cancelled", cancelled},
                  {"busy_at_the_end", busy_at_the_end},
                  {"storm", storm},
                  {"endless", endless},
                  {"small_files", small_files},
                  {"few_descriptors", few_descriptors},
                  {"in_a_chroot", in_a_chroot},
                  {"without_output", without_output},
                  {"daemonise", daemonise},
                  {"forks", forks},
                  {"borrows", borrows}};
  for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(argv[1], programs[i].name) == 0) return programs[i].run();
  }
  return 2;
}
