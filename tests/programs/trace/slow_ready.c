/* The tracer takes 200 ms to make itself ready: this dlsym, which it finds first, sleeps while it looks
 * up MPI. The program itself begins with 1 ms of computation and MPI_Init. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

static void* (*found)(void*, const char*);

void* dlsym(void* handle, const char* name) {
  if (!found) found = (void* (*)(void*, const char*))dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
  if (handle != RTLD_NEXT && strcmp(name, "PMPI_Init") == 0) {
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  }
  return found(handle, name); /* a jump, so that RTLD_NEXT is what is next for the caller */
}

int main(int argc, char** argv) {
  const clock_t begin = clock();
  while (clock() - begin < CLOCKS_PER_SEC / 1000) {
  }
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
