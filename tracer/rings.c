#include "rings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "entries.h"
#include "system_call.h"

typedef struct {
  int file; /* its descriptor plus 1; 0 in a free entry */
  uint64_t recorded;
} Ring;

static Ring* rings; /* a table that grows */
static int capacity;
static atomic_int count; /* of rings in the table */
static uint64_t unrecorded_of_closed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Ring* find(int file) {
  for (int i = 0; i < capacity; ++i) {
    if (rings[i].file == file + 1) return &rings[i];
  }
  return NULL;
}

static Ring* free_entry(void) {
  Ring* ring = find(-1);
  if (ring != NULL) return ring;
  const int larger = capacity > 0 ? 2 * capacity : 8;
  Ring* table = realloc(rings, (size_t)larger * sizeof(Ring));
  if (table == NULL) return NULL;
  memset(table + capacity, 0, (size_t)(larger - capacity) * sizeof(Ring));
  rings = table;
  ring = &rings[capacity];
  capacity = larger;
  return ring;
}

void sesame_rings_add(int file) {
  pthread_mutex_lock(&lock);
  Ring* ring = find(file);
  if (ring == NULL) ring = free_entry();
  if (ring != NULL) {
    if (ring->file == 0) atomic_fetch_add(&count, 1);
    *ring = (Ring){.file = file + 1};
  }
  pthread_mutex_unlock(&lock);
}

void sesame_rings_ensure(int file) {
  pthread_mutex_lock(&lock);
  const int is_new = find(file) == NULL;
  pthread_mutex_unlock(&lock);
  if (is_new) sesame_rings_add(file);
}

void sesame_rings_count_recorded(int file, uint32_t operations) {
  pthread_mutex_lock(&lock);
  Ring* ring = find(file);
  if (ring != NULL) ring->recorded += operations;
  pthread_mutex_unlock(&lock);
}

int sesame_rings_any(void) { return atomic_load_explicit(&count, memory_order_relaxed) != 0; }

/* The kernel counts what it has taken from the ring, in 32 bits. */
static uint32_t taken_by_kernel(int file) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
  int info = (int)sesame_system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long length = info < 0 ? 0 : sesame_system_call(SYS_read, info, text, sizeof text - 1);
  sesame_unrecorded(false, length);
  if (info >= 0) sesame_system_call(SYS_close, info);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* at = strstr(text, "SqHead:");
  return at == NULL ? 0 : (uint32_t)strtoul(at + strlen("SqHead:"), NULL, 10);
}

static uint64_t unrecorded_of(const Ring* ring) {
  const uint32_t left = taken_by_kernel(ring->file - 1) - (uint32_t)ring->recorded;
  return (int32_t)left > 0 ? left : 0;
}

void sesame_rings_close(int file) {
  int saved = errno;
  pthread_mutex_lock(&lock);
  Ring* ring = find(file);
  if (ring != NULL) {
    unrecorded_of_closed += unrecorded_of(ring);
    *ring = (Ring){0};
    atomic_fetch_sub(&count, 1);
  }
  pthread_mutex_unlock(&lock);
  errno = saved;
}

/* Adds a ring that was made past the tracer. */
static void add_if_ring(const char* name, void* unused) {
  (void)unused;
  static const char is_ring[] = "anon_inode:[io_uring]";
  char link[64], target[sizeof is_ring];
  snprintf(link, sizeof link, "/proc/self/fd/%s", name);
  long length = sesame_system_call(SYS_readlinkat, AT_FDCWD, link, target, sizeof target);
  if (length != sizeof is_ring - 1 || memcmp(target, is_ring, sizeof is_ring - 1) != 0) return;
  sesame_rings_ensure(atoi(name));
}

uint64_t sesame_rings_unrecorded(void) {
  int saved = errno;
  sesame_each_entry("/proc/self/fd", add_if_ring, NULL);
  pthread_mutex_lock(&lock);
  uint64_t found = unrecorded_of_closed;
  for (int i = 0; i < capacity; ++i) {
    if (rings[i].file != 0) found += unrecorded_of(&rings[i]);
  }
  pthread_mutex_unlock(&lock);
  errno = saved;
  return found;
}

void sesame_rings_forget(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  unrecorded_of_closed = 0;
  for (int i = 0; i < capacity && sesame_rings_any(); ++i) {
    if (rings[i].file != 0) rings[i].recorded = taken_by_kernel(rings[i].file - 1);
  }
}
