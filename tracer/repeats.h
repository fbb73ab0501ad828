/* Calls that repeat the one before them become one record: characters of a stream, tests and probes
 * that found nothing. A program that polls makes millions of these.
 *
 *   SESAME_RECORD_REPEATED(tests, begin, end, .call = …, .duration = …, .calls = 1, .count = …);
 *
 * The record type has a number of 32 bits behind `call` and `duration`, in which each call counts
 * as one, then what must be the same. Its duration is from the first to the last call. Signal
 * handlers record nothing meanwhile, as in records.h: their record would be the last one. */
#ifndef SESAME_TRACER_REPEATS_H
#define SESAME_TRACER_REPEATS_H

#include "recorder.h"

/* Between two calls of one record. A simulation takes shorter times between polls for their
 * overhead (docs/models/trace-driven.md). */
#define SESAME_REPEATED_PAUSE_NS 2000u

/* The narrow form of such a record, as it is in a stream. */
#pragma pack(push, 1)
typedef struct {
  SesameRecordStart start;
  uint16_t call;
  uint32_t duration;
  uint32_t calls;
  uint8_t same[];
} SesameRepeated;
#pragma pack(pop)

/* Adds a call to the last record if that is of this type, has the same call and other fields, and
 * has just ended. `fields` are those of a record of this call alone. */
static inline int sesame_add_to_last(uint64_t begin, uint64_t end, unsigned id,
                                     const uint8_t* fields, size_t bytes) {
  SesameStream* stream = &sesame_stream;
  SesameRepeated* last = (SesameRepeated*)stream->last;
  const size_t counted = offsetof(SesameRepeated, same) - offsetof(SesameRepeated, call);
  if (last == NULL || last->start.id != id || end >= sesame_deadline(stream) ||
      memcmp(&last->call, fields, sizeof last->call) != 0 ||
      memcmp(last->same, fields + counted, bytes - counted) != 0) {
    return 0;
  }
  uint64_t from = sesame_ns_at(&stream->clock, begin), to = sesame_ns_at(&stream->clock, end);
  if (to < stream->last_ns || from >= stream->last_ns + SESAME_REPEATED_PAUSE_NS) return 0;
  uint64_t duration = last->duration + (to - stream->last_ns);
  if (duration > UINT32_MAX || last->calls == UINT32_MAX) return 0;
  last->start.time = (uint32_t)to;
  last->duration = (uint32_t)duration;
  last->calls++;
  stream->last_ns = to;
  return 1;
}

static inline int sesame_repeat_last(uint64_t begin, uint64_t end, unsigned id,
                                     const uint8_t* fields, size_t bytes) {
  SesameStream* stream = &sesame_stream;
  uint8_t watched = stream->watched;
  *(volatile uint8_t*)&stream->watched = SESAME_WRITING;
  atomic_signal_fence(memory_order_seq_cst);
  int is_added = sesame_add_to_last(begin, end, id, fields, bytes);
  atomic_signal_fence(memory_order_seq_cst);
  *(volatile uint8_t*)&stream->watched = watched;
  return is_added;
}

#define SESAME_RECORD_REPEATED(shape, begin_ticks, end_ticks, ...)                             \
  do {                                                                                         \
    const struct sesame_##shape one_ = {__VA_ARGS__};                                          \
    uint8_t fields_[SESAME_FIXED_RECORD_BYTES];                                                \
    const size_t bytes_ = (size_t)(sesame_narrow_##shape(fields_, &one_) - fields_);           \
    if (!sesame_fits_##shape(&one_) ||                                                         \
        !sesame_repeat_last(begin_ticks, end_ticks, SESAME_TRACED_##shape, fields_, bytes_)) { \
      sesame_put_##shape(end_ticks, &one_);                                                    \
    }                                                                                          \
  } while (0)

#endif
