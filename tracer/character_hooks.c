/* Single characters of streams. Those that follow one another closely become one record. */
#include "stdio_hooks.h"

/* The narrow form of the record `merged`, as it is in a stream: add_to_last() changes it there. */
#pragma pack(push, 1)
typedef struct {
  SesameRecordStart start;
  uint16_t call;
  uint32_t duration;
  int16_t file;
  uint32_t bytes;
} Merged;
#pragma pack(pop)

#define LONGEST_PAUSE_NS 2000u /* between two characters of one record */

/* Adds a character to the last record, if that is a merged one of this call and file and has just
 * ended. Returns whether it was added. */
static int add_to_last(uint64_t begin, uint64_t end, int call, int file) {
  SesameStream* stream = &sesame_stream;
  Merged* last = (Merged*)stream->last;
  if (last == NULL || last->start.id != SESAME_TRACED_merged || last->call != call ||
      last->file != file || end >= sesame_deadline(stream)) {
    return 0;
  }
  uint64_t from = sesame_ns_at(&stream->clock, begin), to = sesame_ns_at(&stream->clock, end);
  if (to < stream->last_ns || from > stream->last_ns + LONGEST_PAUSE_NS) return 0;
  uint64_t duration = last->duration + (to - stream->last_ns);
  if (duration > UINT32_MAX || last->bytes == UINT32_MAX) return 0;
  last->start.time = (uint32_t)to;
  last->duration = (uint32_t)duration;
  last->bytes++;
  stream->last_ns = to;
  return 1;
}

/* As in records.h, signal handlers record nothing meanwhile: their record would be the last one. */
static int merge(uint64_t begin, uint64_t end, int call, int file) {
  SesameStream* stream = &sesame_stream;
  uint8_t watched = stream->watched;
  *(volatile uint8_t*)&stream->watched = SESAME_WRITING;
  atomic_signal_fence(memory_order_seq_cst);
  int is_merged = add_to_last(begin, end, call, file);
  atomic_signal_fence(memory_order_seq_cst);
  *(volatile uint8_t*)&stream->watched = watched;
  return is_merged;
}

static void record_character(uint64_t begin, int call, const FILE* stream, int result) {
  if (result < 0) {
    sesame_record_text(begin, call, stream, -1);
    return;
  }
  int file = sesame_stream_file(stream);
  uint64_t end = sesame_leave(begin);
  sesame_count_stream(stream, 1);
  if (merge(begin, end, call, file)) return;
  sesame_put_merged(end, &(struct sesame_merged){
                             .call = (uint16_t)call,
                             .duration = sesame_ticks_to_ns(&sesame_stream.clock, end - begin),
                             .file = file,
                             .bytes = 1});
}

#define CHARACTER(name, call, parameters, arguments, target)                \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_enter();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    record_character(begin, SESAME_CALL_##call, stream, result);            \
    return result;                                                          \
  }
#define GET(name, call) CHARACTER(name, call, (FILE * file), (file), file)
#define PUT(name, call) CHARACTER(name, call, (int c, FILE* file), (c, file), file)
GET(fgetc, fgetc)
GET(fgetc_unlocked, fgetc)
GET(getc, fgetc)
GET(getc_unlocked, fgetc)
GET(_IO_getc, fgetc)
CHARACTER(getchar, getchar, (void), (), stdin)
CHARACTER(getchar_unlocked, getchar, (void), (), stdin)
PUT(fputc, fputc)
PUT(fputc_unlocked, fputc)
PUT(putc, fputc)
PUT(putc_unlocked, fputc)
PUT(_IO_putc, fputc)
CHARACTER(putchar, putchar, (int c), (c), stdout)
CHARACTER(putchar_unlocked, putchar, (int c), (c), stdout)

/* Compilers inline getc_unlocked and putc_unlocked: they call these functions only when the buffer
 * is empty or full. The record has the data of the buffer. */
static void record_buffer(uint64_t begin, int call, const FILE* stream, ssize_t moved) {
  sesame_put_stream(begin, call, stream, moved < 0 ? 1 : (size_t)moved,
                    moved < 0 ? 0 : (size_t)moved);
}

#define GET_BUFFER(name, takes)                                                    \
  SESAME_HOOK(int, name, (FILE * stream)) {                                        \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name)(stream);          \
    uint64_t begin = sesame_enter();                                               \
    int result = SESAME_REAL(name)(stream);                                        \
    sesame_count_stream(stream, takes&& result >= 0);                              \
    record_buffer(begin, SESAME_CALL_getc_unlocked, stream,                        \
                  result < 0 ? -1 : stream->_IO_read_end - stream->_IO_read_base); \
    return result;                                                                 \
  }
GET_BUFFER(__uflow, 1)
GET_BUFFER(__underflow, 0)

SESAME_HOOK(int, __overflow, (FILE * stream, int c)) {
  if (!sesame_watches_stream(stream)) return SESAME_REAL(__overflow)(stream, c);
  ssize_t buffered = stream->_IO_write_ptr - stream->_IO_write_base;
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(__overflow)(stream, c);
  sesame_count_stream(stream, c != EOF && result >= 0);
  record_buffer(begin, SESAME_CALL_putc_unlocked, stream, result < 0 ? -1 : buffered + 1);
  return result;
}
