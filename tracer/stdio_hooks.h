/* What hooks of streams share. glibc's FILE is looked into where a call would cost as much as the
 * hook does; its layout is part of the binary interface, for macros of old programs use it. */
#ifndef SESAME_TRACER_STDIO_HOOKS_H
#define SESAME_TRACER_STDIO_HOOKS_H

#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "hooks.h"

/* In FILE's flags. A stream of a file is neither in memory nor the program's own. */
#define SESAME_STREAM_OF_FILE 0x2000
#define SESAME_STREAM_FAILED 0x20
#define SESAME_STREAM_WRITES 0x800

/* -1 when there is none. */
static inline int sesame_stream_file(const FILE* stream) {
  return stream->_flags & SESAME_STREAM_OF_FILE ? stream->_fileno : -1;
}

/* What the buffer holds: bytes read and not taken yet, or, below 0, taken and not written. */
static inline int64_t sesame_buffered(const FILE* stream) {
  if (stream->_flags & SESAME_STREAM_WRITES) return stream->_IO_write_base - stream->_IO_write_ptr;
  return stream->_IO_read_end - stream->_IO_read_ptr;
}

static inline int64_t sesame_unwritten(int64_t buffered) { return buffered < 0 ? -buffered : 0; }

/* Keeps what is buffered now for sesame_count_stream after the call. */
static inline int sesame_watches_stream(const FILE* stream) {
  int file = sesame_stream_file(stream);
  if (file < 0 || !sesame_watches_file(file)) return 0;
  sesame_stream.buffered = sesame_buffered(stream);
  return 1;
}

/* What the stream itself has read and written, which is in no record: the kernel has counted it. */
void sesame_add_stream_bytes(int64_t read, int64_t written);

/* After a call that gave `moved` bytes to the program or took them from it. Mostly they went from
 * the buffer or into it. */
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

/* After one that moves the position, or empties the buffer: a seek to outside the buffer reads
 * what is at the new position, if it reads at all. */
static inline void sesame_count_emptied(const FILE* stream, int is_read_again) {
  int64_t written =
      sesame_unwritten(sesame_stream.buffered) - sesame_unwritten(sesame_buffered(stream));
  int64_t read = is_read_again ? stream->_IO_read_end - stream->_IO_read_base : 0;
  if ((read | written) != 0) sesame_add_stream_bytes(read, written);
}

/* Of a call that was to move `size` bytes. At the end of a file errno is not the stream's. */
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

/* Of a call that says itself how much it moved, -1 for an error or the end: one byte was to come.
 */
static inline void sesame_record_text(uint64_t begin, int call, const FILE* stream, ssize_t moved) {
  sesame_record_stream(begin, call, stream, moved < 0 ? 1 : (size_t)moved,
                       moved < 0 ? 0 : (size_t)moved);
}

/* What is left of the stream's buffer before a call, to tell how much the call took. */
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
