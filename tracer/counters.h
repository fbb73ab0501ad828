/* What the kernel has counted of this process's reads and writes, to be compared with the records:
 * what it counted and no record tells was done past the tracer. */
#ifndef SESAME_TRACER_COUNTERS_H
#define SESAME_TRACER_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes. */
typedef struct {
  uint64_t read;
  uint64_t written;
} SesameMoved;

/* Bytes that calls of the tracer itself moved, and calls that are not recorded because they are
 * part of another one that is. */
extern atomic_uint_fast64_t sesame_unrecorded_read, sesame_unrecorded_written;

/* Adds what a call moved, and gives its result. */
static inline ssize_t sesame_unrecorded(bool writes, ssize_t moved) {
  if (moved > 0) {
    atomic_fetch_add_explicit(writes ? &sesame_unrecorded_written : &sesame_unrecorded_read,
                              (uint64_t)moved, memory_order_relaxed);
  }
  return moved;
}

/* The counters of a process begin with it; exec keeps them. */
void sesame_counters_begin(bool is_forked);

/* By a thread that ends: what it moved is in no file of the kernel any more that is its process's
 * alone. Keeps errno. */
void sesame_counters_end_thread(void);

/* What has been read and written since then without what was added above and what the dynamic
 * linker read of libraries. False when the kernel does not count. Keeps errno. */
bool sesame_counters_read(SesameMoved* moved);

/* Around a call of this thread that does more than the hooks see: all that it moves is taken for
 * unrecorded. */
SesameMoved sesame_counters_hide(void);
void sesame_counters_unhide(SesameMoved before);

#endif
