/* What hooks of streams share. Hooks read members of glibc's FILE where a function call would cost
 * as much as the hook itself. The layout of FILE is part of glibc's binary interface, because
 * macros in old programs use it. */
#ifndef SESAME_TRACER_STDIO_HOOKS_H
#define SESAME_TRACER_STDIO_HOOKS_H

#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "hooks.h"

/* Bits of FILE's flags. Streams in memory, and those with functions of the program, are not streams
 * of a file. */
#define SESAME_STREAM_OF_FILE 0x2000
#define SESAME_STREAM_FAILED 0x20
#define SESAME_STREAM_WRITES 0x800

/* The stream's descriptor; -1 when there is none. */
static inline int sesame_stream_file(const FILE* stream) {
  return stream->_flags & SESAME_STREAM_OF_FILE ? stream->_fileno : -1;
}

/* Bytes in the buffer. Above 0: read from the file and not taken by the program yet. Below 0: taken
 * from the program and not written yet. */
static inline int64_t sesame_buffered(const FILE* stream) {
  if (stream->_flags & SESAME_STREAM_WRITES) return stream->_IO_write_base - stream->_IO_write_ptr;
  return stream->_IO_read_end - stream->_IO_read_ptr;
}

static inline int64_t sesame_unwritten(int64_t buffered) { return buffered < 0 ? -buffered : 0; }

/* Whether to record a call on the stream. Stores what is buffered now, for sesame_count_stream
 * after the call. */
static inline int sesame_watches_stream(const FILE* stream) {
  int file = sesame_stream_file(stream);
  if (file < 0 || !sesame_watches_file(file)) return 0;
  sesame_stream.buffered = sesame_buffered(stream);
  return 1;
}

/* Adds what the stream itself has read and written. No record has it, but the kernel counted it. */
void sesame_add_stream_bytes(int64_t read, int64_t written);

/* Call it after a call that moved `moved` bytes to or from the program. Mostly only the buffer has
 * changed. */
static inline void sesame_count_stream(const FILE* stream, size_t moved) {
  const int64_t before = sesame_stream.buffered, now = sesame_buffered(stream);
  if (__builtin_expect((int64_t)moved + now == before && (before ^ now) >= 0, 1)) return;
  int64_t written = sesame_unwritten(before) - sesame_unwritten(now), read = 0;
  if (stream->_flags & SESAME_STREAM_WRITES) {
    written += (int64_t)moved;
  } else {
    read = (int64_t)moved + now - (before > 0 ? before : 0);
  }
  if ((read | written) != 0) sesame_add_stream_bytes(read, written);
}

/* Call it after a call that sets the position or empties the buffer. A seek to a position outside
 * the buffer may read there: `is_read_again`. */
static inline void sesame_count_emptied(const FILE* stream, int is_read_again) {
  int64_t written =
      sesame_unwritten(sesame_stream.buffered) - sesame_unwritten(sesame_buffered(stream));
  int64_t read = is_read_again ? stream->_IO_read_end - stream->_IO_read_base : 0;
  if ((read | written) != 0) sesame_add_stream_bytes(read, written);
}

/* Records a call that should move `size` bytes. errno is recorded only if the stream failed, not at
 * the end of a file. */
static inline void sesame_put_stream(uint64_t begin, int call, const FILE* stream, size_t size,
                                     size_t moved) {
  int file = sesame_stream_file(stream);
  if (__builtin_expect(moved == size, 1)) {
    SESAME_RECORD(data, begin, .call = (uint16_t)call, .file = file, .bytes = size);
  } else {
    sesame_record_partial(begin, call, file, size, moved, -1,
                          sesame_error(stream->_flags & SESAME_STREAM_FAILED));
  }
}

static inline void sesame_record_stream(uint64_t begin, int call, const FILE* stream, size_t size,
                                        size_t moved) {
  sesame_put_stream(begin, call, stream, size, moved);
  sesame_count_stream(stream, moved);
}

/* Records a call that returns how much it moved. -1, for an error or the end, is recorded as none
 * of one byte. */
static inline void sesame_record_text(uint64_t begin, int call, const FILE* stream, ssize_t moved) {
  sesame_record_stream(begin, call, stream, moved < 0 ? 1 : (size_t)moved,
                       moved < 0 ? 0 : (size_t)moved);
}

/* The stream's buffer before a call, to calculate how much the call took from it. */
typedef struct {
  const char* at;
  const char* end;
  const char* base;
} SesameTaken;

static inline SesameTaken sesame_take_before(const FILE* stream) {
  return (SesameTaken){stream->_IO_read_ptr, stream->_IO_read_end, stream->_IO_read_base};
}

/* Exact unless the call has filled the buffer more than once, or another thread used the stream. */
static inline size_t sesame_taken(const FILE* stream, SesameTaken before) {
  SesameTaken now = sesame_take_before(stream);
  int is_same_buffer = now.base == before.base && now.end == before.end && now.at >= before.at;
  ptrdiff_t taken =
      is_same_buffer ? now.at - before.at : (before.end - before.at) + (now.at - now.base);
  return taken < 0 ? 0 : (size_t)taken;
}

/* --- Hooks that are alike ----------------------------------------------------------------- */

/* `moved` is an expression of `result`: what was moved, -1 for an error or the end. */
#define SESAME_TEXT_HOOK(type, name, call, parameters, arguments, target, moved) \
  SESAME_HOOK(type, name, parameters) {                                          \
    FILE* stream = target;                                                       \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments;      \
    uint64_t begin = sesame_enter();                                             \
    type result = SESAME_REAL(name) arguments;                                   \
    sesame_record_text(begin, SESAME_CALL_##call, stream, moved);                \
    return result;                                                               \
  }

/* printf with arguments, by the real function that takes a list. */
#define SESAME_PRINT_HOOK(name, call, parameters, target, list_name, arguments)    \
  SESAME_HOOK(int, name, parameters) {                                             \
    FILE* stream = target;                                                         \
    va_list list;                                                                  \
    va_start(list, format);                                                        \
    int is_watched = sesame_watches_stream(stream);                                \
    uint64_t begin = is_watched ? sesame_enter() : 0;                              \
    int result = SESAME_REAL(list_name) arguments;                                 \
    va_end(list);                                                                  \
    if (is_watched) sesame_record_text(begin, SESAME_CALL_##call, stream, result); \
    return result;                                                                 \
  }

/* scanf returns what it converted, so the data moved is what it took from the buffer. */
static inline void sesame_record_scan(uint64_t begin, int call, const FILE* stream,
                                      SesameTaken before, int result) {
  sesame_record_text(begin, call, stream, result < 0 ? -1 : (ssize_t)sesame_taken(stream, before));
}

#define SESAME_SCAN_LIST_HOOK(name, call, parameters, arguments, target)    \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    SesameTaken before = sesame_take_before(stream);                        \
    uint64_t begin = sesame_enter();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    sesame_record_scan(begin, SESAME_CALL_##call, stream, before, result);  \
    return result;                                                          \
  }

#define SESAME_SCAN_HOOK(name, call, parameters, target, list_name)                        \
  SESAME_HOOK(int, name, parameters) {                                                     \
    FILE* stream = target;                                                                 \
    va_list list;                                                                          \
    va_start(list, format);                                                                \
    int is_watched = sesame_watches_stream(stream);                                        \
    SesameTaken before = sesame_take_before(stream);                                       \
    uint64_t begin = is_watched ? sesame_enter() : 0;                                      \
    int result = SESAME_REAL(list_name)(stream, format, list);                             \
    va_end(list);                                                                          \
    if (is_watched) sesame_record_scan(begin, SESAME_CALL_##call, stream, before, result); \
    return result;                                                                         \
  }

#endif
