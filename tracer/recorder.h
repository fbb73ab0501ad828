/* What hooks need to make a record. Nothing here takes a lock, allocates or calls the system,
 * except when a thread makes its first record, when its buffer is full, and once a second.
 *
 * A hook:
 *
 *   if (!sesame_watches(SESAME_IO)) return real(...);
 *   uint64_t begin = sesame_ticks();
 *   result = real(...);
 *   SESAME_RECORD(data_at, begin, .call = SESAME_CALL_pwrite, .file = fd, …);
 *   return result;
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
#include "core/trace/shapes.h"

/* What is recorded, as bits. */
enum { SESAME_IO = 1, SESAME_MPI = 2, SESAME_WRITING = 0x80 };

/* Room that a record of fixed size never exceeds. */
enum { SESAME_RECORD_ROOM = 128 };

typedef struct SesameStream SesameStream;
struct SesameStream {
  uint8_t watched;   /* SESAME_IO, SESAME_MPI, or SESAME_WRITING */
  uint8_t* at;       /* where the next record goes */
  uint8_t* last;     /* the record before, for merging; null at the start of a packet */
  uint8_t* limit;    /* a record must end here */
  uint64_t deadline; /* ticks at which the clock is to be renewed */
  uint64_t last_ns;  /* time of the record before */
  SesameClock clock;
  SesameThreadState* state;
  struct SesameBuffer* buffer; /* what the slow path knows about the stream */
};

extern __thread SesameStream sesame_stream __attribute__((tls_model("initial-exec")));

/* Of a thread that does not watch `kind`: begins with it if it only has not begun yet. Counts what
 * is lost in a signal handler that came while a record was made. Keeps errno. */
int sesame_begin_thread(int kind);

/* Makes room for `size` bytes, renews the clock; false when the record must be discarded (and
 * has been counted). Keeps errno. */
int sesame_make_room(SesameStream* stream, uint64_t end_ticks, size_t size);

/* Counts a record that could not be made. */
void sesame_discard(void);

static inline int sesame_watches(int kind) {
  if (__builtin_expect(sesame_stream.watched & kind, 1)) return 1;
  return sesame_begin_thread(kind);
}

/* While the program is in a call whose inner calls are not to be recorded. */
static inline uint8_t sesame_hide(uint8_t kinds) {
  uint8_t before = sesame_stream.watched;
  sesame_stream.watched = (uint8_t)(before & ~kinds);
  return before;
}
static inline void sesame_unhide(uint8_t before) { sesame_stream.watched = before; }

#include "records.h"

#define SESAME_RECORD(shape, begin_ticks, ...)                                                \
  do {                                                                                        \
    uint64_t end_ = sesame_ticks();                                                           \
    sesame_put_##shape(                                                                       \
        end_, &(struct sesame_##shape){                                                       \
                  .duration = sesame_ticks_to_ns(&sesame_stream.clock, end_ - (begin_ticks)), \
                  __VA_ARGS__});                                                              \
  } while (0)

#endif
