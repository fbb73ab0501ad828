/* What hooks need to make a record. Nothing here takes a lock, allocates or calls the system,
 * except when a thread makes its first record, when its buffer is full, once a second, and where a
 * call or the time before it took long (processor.c).
 *
 * A hook:
 *
 *   if (!sesame_watches(SESAME_IO)) return real(...);
 *   uint64_t begin = sesame_enter();
 *   result = real(...);
 *   SESAME_RECORD(data_at, begin, .call = SESAME_CALL_pwrite, .file = fd, …);
 *   return result;
 *
 * Numbers of calls are in calls.h, record types with their fields in core/trace/traced_records.def.
 *
 * Neither results nor errno change. Records of a signal handler that interrupts the making of a
 * record, and those that could not be written, are counted as discarded. */
#ifndef SESAME_TRACER_RECORDER_H
#define SESAME_TRACER_RECORDER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "clock.h"
#include "core/trace/traced_format.h"
#include "process.h"

/* Beside SESAME_IO and SESAME_MPI (process.h), in SesameStream.watched: a record is being made. */
enum { SESAME_WRITING = 0x80 };

/* A record of fixed size is never longer. */
enum { SESAME_FIXED_RECORD_BYTES = 128 };

/* The thread's processor time when the system was last asked for it. */
typedef struct {
  uint64_t ticks;
  uint64_t had_ns; /* processor time */
  uint64_t sleeps; /* voluntary context switches */
} SesameProcessorTime;

typedef struct SesameStream SesameStream;
struct SesameStream {
  uint8_t watched;     /* SESAME_IO, SESAME_MPI, or SESAME_WRITING */
  uint8_t* at;         /* where the next record goes */
  uint8_t* last;       /* the last record, for merging; null at the start of a packet */
  uint8_t* limit;      /* a record must end here */
  uint64_t deadline;   /* ticks at which the clock is to be renewed */
  uint64_t last_ns;    /* time of the last record */
  uint64_t left;       /* ticks at the end of the thread's last call */
  uint64_t long_ticks; /* after a longer call or gap the thread's processor time is asked for */
  SesameProcessorTime processor;
  int64_t buffered; /* of a stream of stdio before a call on it: see stdio_hooks.h */
  SesameClock clock;
  SesameThreadState* state;
  struct SesameBuffer* buffer; /* what the slow path knows about the stream */
};

extern __thread SesameStream sesame_stream __attribute__((tls_model("initial-exec")));

/* Call it if the thread does not watch `kind`. Starts the thread's recording if it has not started.
 * Returns whether `kind` is recorded now. In a signal handler that interrupts the making of a
 * record it counts a discarded record. Keeps errno. */
int sesame_begin_thread(int kind);

/* Reserves `size` bytes, renews the clock; false when the record must be discarded (and
 * has been counted). Keeps errno. */
int sesame_reserve_record(SesameStream* stream, uint64_t end_ticks, size_t size);

/* After a long time outside calls, or in one: make the record `preempted` if the thread was ready
 * to run and did not have the processor. Keep errno. */
uint64_t sesame_end_gap(uint64_t now);
void sesame_end_long_call(uint64_t begin, uint64_t end);
void sesame_ask_processor(SesameStream* stream, uint64_t now);

/* Counts a record that could not be made. */
void sesame_discard(void);

/* Another thread sets it to 0 when it writes this thread's records. */
static inline uint64_t sesame_deadline(const SesameStream* stream) {
  return __atomic_load_n(&stream->deadline, __ATOMIC_RELAXED);
}

static inline int sesame_watches(int kind) {
  if (__builtin_expect(sesame_stream.watched & kind, 1)) return 1;
  return sesame_begin_thread(kind);
}

/* Ticks at which the program enters a call. */
static inline uint64_t sesame_enter(void) {
  uint64_t now = sesame_ticks();
  if (__builtin_expect(now - sesame_stream.left > sesame_stream.long_ticks, 0)) {
    return sesame_end_gap(now);
  }
  return now;
}

/* Ticks at which it leaves the call that began at `begin`. */
static inline uint64_t sesame_leave(uint64_t begin) {
  uint64_t now = sesame_ticks();
  sesame_stream.left = now;
  if (__builtin_expect(now - begin > sesame_stream.long_ticks, 0)) sesame_end_long_call(begin, now);
  return now;
}

/* Hides the calls inside the present one, which are not recorded. Give the result to sesame_unhide
 * at the end of the call. */
static inline uint8_t sesame_hide(uint8_t kinds) {
  uint8_t before = sesame_stream.watched;
  sesame_stream.watched = (uint8_t)(before & ~kinds);
  return before;
}
static inline void sesame_unhide(uint8_t before) { sesame_stream.watched = before; }

#include "records.h"

#define SESAME_RECORD(shape, begin_ticks, ...)                                                \
  do {                                                                                        \
    uint64_t end_ = sesame_leave(begin_ticks);                                                \
    sesame_put_##shape(                                                                       \
        end_, &(struct sesame_##shape){                                                       \
                  .duration = sesame_ticks_to_ns(&sesame_stream.clock, end_ - (begin_ticks)), \
                  __VA_ARGS__});                                                              \
  } while (0)

#endif
