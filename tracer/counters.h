/* The kernel's counts of the bytes that this process has read and written. What it counted and no
 * record has was moved by calls that the tracer did not see. */
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

/* Adds what a call moved, and returns its result. */
static inline ssize_t sesame_unrecorded(bool writes, ssize_t moved) {
  if (moved > 0) {
    atomic_fetch_add_explicit(writes ? &sesame_unrecorded_written : &sesame_unrecorded_read,
                              (uint64_t)moved, memory_order_relaxed);
  }
  return moved;
}

/* Counts from now on. In a forked child the kernel's counters begin at 0; exec keeps them. */
void sesame_counters_begin(bool is_forked);

/* Call it in a thread that ends. Adds what the thread moved: later it is only in counters of the
 * kernel that include child processes. Keeps errno. */
void sesame_counters_end_thread(void);

/* What has been read and written since sesame_counters_begin, without what sesame_unrecorded added
 * and what the dynamic linker read of libraries. False when the kernel does not count. Keeps errno.
 */
bool sesame_counters_read(SesameMoved* moved);

/* Call these before and after a call of this thread that does I/O which the hooks do not see: all
 * that the thread moves between them counts as unrecorded. */
SesameMoved sesame_counters_hide(void);
void sesame_counters_unhide(SesameMoved before);

#endif
