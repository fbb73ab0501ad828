/* One struct and one writer for each record type of core/trace/traced_records.def: for instance
 * struct sesame_data_at and sesame_put_data_at(end_ticks, &record). Part of recorder.h. */
#ifndef SESAME_TRACER_RECORDS_H
#define SESAME_TRACER_RECORDS_H

/* A list of a record: `length` numbers. */
typedef struct {
  uint32_t length;
  const int32_t* items;
} SesameList;

#define SESAME_TRACED_BEGIN(shape, id, meaning) struct sesame_##shape {
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) sesame_##wide field;
#define SESAME_TRACED_TEXT(shape, field, meaning) const char* field;
#define SESAME_TRACED_LIST(shape, field, meaning) SesameList field;
#define SESAME_TRACED_END(shape) \
  }                              \
  ;
#include "core/trace/traced_records.def"

#define SESAME_FITS_u8(v) ((uint64_t)(v) <= UINT8_MAX)
#define SESAME_FITS_u16(v) ((uint64_t)(v) <= UINT16_MAX)
#define SESAME_FITS_u32(v) ((uint64_t)(v) <= UINT32_MAX)
#define SESAME_FITS_u64(v) 1
#define SESAME_FITS_s16(v) ((int64_t)(v) == (int16_t)(v))
#define SESAME_FITS_s32(v) ((int64_t)(v) == (int32_t)(v))
#define SESAME_FITS_s40(v) ((int64_t)(v) + (1ll << 39) >= 0 && (int64_t)(v) < (1ll << 39))
#define SESAME_FITS_s64(v) 1
#define SESAME_FITS_call(v) 1

/* Writes a number of `bytes` bytes and returns its end. For 5 bytes it writes 8, which is faster:
 * what follows overwrites the rest. */
static inline uint8_t* sesame_put_number(uint8_t* at, uint64_t value, size_t bytes) {
  if (bytes == 5) {
    memcpy(at, &value, 8);
  } else {
    memcpy(at, &value, bytes);
  }
  return at + bytes;
}

static inline uint8_t* sesame_put_text(uint8_t* at, const char* text) {
  size_t size = strlen(text) + 1;
  memcpy(at, text, size);
  return at + size;
}

static inline uint8_t* sesame_put_list(uint8_t* at, SesameList list) {
  at = sesame_put_number(at, list.length, 4);
  memcpy(at, list.items, 4 * (size_t)list.length);
  return at + 4 * (size_t)list.length;
}

/* The size of a record with its texts and lists. */
#define SESAME_TRACED_BEGIN(shape, id, meaning)                                    \
  static inline size_t sesame_bytes_##shape(const struct sesame_##shape* record) { \
    (void)record;                                                                  \
    size_t bytes = SESAME_FIXED_RECORD_BYTES;
#define SESAME_TRACED_TEXT(shape, field, meaning) bytes += strlen(record->field) + 1;
#define SESAME_TRACED_LIST(shape, field, meaning) bytes += 4 + 4 * (size_t)record->field.length;
#define SESAME_TRACED_END(shape) \
  return bytes;                  \
  }
#include "core/trace/traced_records.def"

#define SESAME_TRACED_BEGIN(shape, id, meaning)                                \
  static inline int sesame_fits_##shape(const struct sesame_##shape* record) { \
    (void)record;                                                              \
    return 1
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) \
  &SESAME_FITS_##narrow(record->field)
#define SESAME_TRACED_END(shape) \
  ;                              \
  }
#include "core/trace/traced_records.def"

#define SESAME_TRACED_BEGIN(shape, id, meaning) \
  static inline uint8_t* sesame_narrow_##shape(uint8_t* at, const struct sesame_##shape* record) {
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) \
  at = sesame_put_number(at, (uint64_t)record->field, SESAME_BYTES_##narrow);
#define SESAME_TRACED_TEXT(shape, field, meaning) at = sesame_put_text(at, record->field);
#define SESAME_TRACED_LIST(shape, field, meaning) at = sesame_put_list(at, record->field);
#define SESAME_TRACED_END(shape) \
  return at;                     \
  }
#include "core/trace/traced_records.def"

#define SESAME_TRACED_BEGIN(shape, id, meaning) \
  static inline uint8_t* sesame_wide_##shape(uint8_t* at, const struct sesame_##shape* record) {
#define SESAME_TRACED_FIELD(shape, field, narrow, wide, meaning) \
  at = sesame_put_number(at, (uint64_t)record->field, SESAME_BYTES_##wide);
#define SESAME_TRACED_TEXT(shape, field, meaning) at = sesame_put_text(at, record->field);
#define SESAME_TRACED_LIST(shape, field, meaning) at = sesame_put_list(at, record->field);
#define SESAME_TRACED_END(shape) \
  return at;                     \
  }
#include "core/trace/traced_records.def"

static inline uint8_t* sesame_start_record(SesameStream* stream, uint64_t end_ticks, unsigned id) {
  uint64_t ns = sesame_ns_at(&stream->clock, end_ticks);
  stream->last_ns = ns > stream->last_ns ? ns : stream->last_ns;
  stream->state->records++;
  return sesame_put_number(sesame_put_number(stream->at, id, 1), stream->last_ns, 4);
}

/* While a record is made `watched` is SESAME_WRITING, so that hooks in signal handlers make none.
 */
#define SESAME_TRACED_BEGIN(shape, id, meaning)                                                    \
  static inline void sesame_put_##shape(uint64_t end_ticks, const struct sesame_##shape* record) { \
    SesameStream* stream = &sesame_stream;                                                         \
    uint8_t watched = stream->watched;                                                             \
    *(volatile uint8_t*)&stream->watched = SESAME_WRITING;                                         \
    atomic_signal_fence(memory_order_seq_cst);                                                     \
    size_t bytes = sesame_bytes_##shape(record);                                                   \
    if (__builtin_expect(                                                                          \
            (size_t)(stream->limit - stream->at) >= bytes && end_ticks < sesame_deadline(stream),  \
            1) ||                                                                                  \
        sesame_reserve_record(stream, end_ticks, bytes)) {                                         \
      uint8_t* at;                                                                                 \
      if (__builtin_expect(sesame_fits_##shape(record), 1)) {                                      \
        at = sesame_narrow_##shape(sesame_start_record(stream, end_ticks, id), record);            \
      } else {                                                                                     \
        at = sesame_wide_##shape(sesame_start_record(stream, end_ticks, (id) | SESAME_WIDE),       \
                                 record);                                                          \
      }                                                                                            \
      stream->last = stream->at;                                                                   \
      __atomic_store_n(&stream->at, at, __ATOMIC_RELEASE);                                         \
    }                                                                                              \
    atomic_signal_fence(memory_order_seq_cst);                                                     \
    *(volatile uint8_t*)&stream->watched = watched;                                                \
  }
#include "core/trace/traced_records.def"

#endif
