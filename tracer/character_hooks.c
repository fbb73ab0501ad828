/* Single characters of streams. Those that follow one another closely become one record. */
#include "repeats.h"
#include "stdio_hooks.h"

static void record_character(uint64_t begin, int call, const FILE* stream, int result) {
  if (result < 0) {
    sesame_record_text(begin, call, stream, -1);
    return;
  }
  int file = sesame_stream_file(stream);
  uint64_t end = sesame_leave(begin);
  sesame_count_stream(stream, 1);
  SESAME_RECORD_REPEATED(merged, begin, end, .call = (uint16_t)call,
                         .duration = sesame_ticks_to_ns(&sesame_stream.clock, end - begin),
                         .bytes = 1, .file = file);
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
