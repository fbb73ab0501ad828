/* The tracer takes 200 ms to make itself ready: this dlsym, which it finds first, sleeps while it
 * looks up MPI. The program itself begins with 1 ms of computation and MPI_Init, and prints how
 * often it slept, and the nanoseconds without sleep from before the tracer was loaded to the end of
 * MPI_Init. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void* (*found)(void*, const char*);
static int sleeps;
static long long begin_ns, slept_ns;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Called before the constructors of all libraries. */
static void begin(void) { begin_ns = now_ns(); }
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = begin;

void* dlsym(void* handle, const char* name) {
  /* Its version since libdl is part of the C library, and the one before. */
  if (!found) found = (void* (*)(void*, const char*))dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34");
  if (!found) found = (void* (*)(void*, const char*))dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5");
  if (handle != RTLD_NEXT && strcmp(name, "PMPI_Init") == 0) {
    ++sleeps;
    const long long since_ns = now_ns();
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    slept_ns += now_ns() - since_ns;
  }
  return found(handle, name); /* a jump, so that RTLD_NEXT is what is next for the caller */
}

int main(int argc, char** argv) {
  const clock_t begin = clock();
  while (clock() - begin < CLOCKS_PER_SEC / 1000) {
  }
  MPI_Init(&argc, &argv);
  printf("slept %d %lld\n", sleeps, now_ns() - begin_ns - slept_ns);
  MPI_Finalize();
  return 0;
}
