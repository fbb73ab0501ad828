// Preloaded: one write of a process goes wrong. FAULT is flip:N, the N-th pwrite writes a wrong bit
// in its last word, or fail:N, it finds the disk full.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef ssize_t (*Write)(int, const void*, size_t, off_t);

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static long calls;
  const Write write = (Write)dlsym(RTLD_NEXT, "pwrite");
  const char* fault = getenv("FAULT");
  if (fault == NULL || ++calls != atol(fault + strlen("flip:")) || bytes < sizeof(double)) {
    return write(file, data, bytes, offset);
  }
  if (strncmp(fault, "fail", 4) == 0) {
    errno = ENOSPC;
    return -1;
  }
  char* copy = malloc(bytes);
  memcpy(copy, data, bytes);
  copy[bytes - 2] ^= 0x10;
  const ssize_t written = write(file, copy, bytes, offset);
  free(copy);
  return written;
}
