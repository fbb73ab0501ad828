/* calls.c with an allocator of its own, which counts. */
#include "calls.c"

extern void *__libc_malloc(size_t size);
static long allocated;

void *malloc(size_t size) {
  ++allocated;
  return __libc_malloc(size);
}
