// For LD_PRELOAD: the simulator can start one process, and no further one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

pid_t fork(void) {
  static int forks = 0;
  char program[4096];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  program[size > 0 ? size : 0] = '\0';
  if (strstr(program, "sesame-simulator") != NULL && forks++ > 0) {
    errno = EAGAIN;
    return -1;
  }
  return ((pid_t(*)(void))dlsym(RTLD_NEXT, "fork"))();
}
