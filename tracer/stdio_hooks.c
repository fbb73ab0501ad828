/* Streams: opened, closed, flushed, positioned; blocks and lines. */
#include "stdio_hooks.h"

#include <fcntl.h>
#include <string.h>

/* --- Opened and closed -------------------------------------------------------------------- */

/* The flags of open that a mode like "r+" stands for. */
static int flags_of(const char* mode) {
  int access = O_RDONLY, others = 0;
  if (mode == NULL) return 0;
  if (*mode == 'w') access = O_WRONLY, others = O_CREAT | O_TRUNC;
  if (*mode == 'a') access = O_WRONLY, others = O_CREAT | O_APPEND;
  for (int i = 1; i < 7 && mode[i] != '\0' && mode[i] != ','; ++i) {
    if (mode[i] == '+') access = O_RDWR;
    if (mode[i] == 'x') others |= O_EXCL;
    if (mode[i] == 'e') others |= O_CLOEXEC;
  }
  return access | others;
}

/* Does nothing in a thread without recording: what it moves is not counted. */
void sesame_add_stream_bytes(int64_t read, int64_t written) {
  SesameThreadState* state = sesame_stream.state;
  if (state == NULL) return;
  state->stream_read += (uint64_t)read;
  state->stream_written += (uint64_t)written;
}

static void record_opening(uint64_t begin, int call, FILE* stream, const char* path, int flags) {
  int file = stream == NULL ? -1 : sesame_stream_file(stream);
  sesame_record_open(begin, call, file, AT_FDCWD, path, flags);
}

#define OPEN(name, call, parameters, arguments, path, flags)            \
  SESAME_HOOK(FILE*, name, parameters) {                                \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_enter();                                    \
    FILE* stream = SESAME_REAL(name) arguments;                         \
    record_opening(begin, SESAME_CALL_##call, stream, path, flags);     \
    return stream;                                                      \
  }
OPEN(fopen, fopen, (const char* path, const char* mode), (path, mode), path, flags_of(mode))
OPEN(fopen64, fopen, (const char* path, const char* mode), (path, mode), path, flags_of(mode))
OPEN(_IO_fopen, fopen, (const char* path, const char* mode), (path, mode), path, flags_of(mode))
OPEN(tmpfile, tmpfile, (void), (), "", O_RDWR | O_CREAT | O_EXCL)
OPEN(tmpfile64, tmpfile, (void), (), "", O_RDWR | O_CREAT | O_EXCL)
OPEN(popen, popen, (const char* command, const char* mode), (command, mode), "",
     flags_of(mode) & O_ACCMODE)
OPEN(_IO_popen, popen, (const char* command, const char* mode), (command, mode), "",
     flags_of(mode) & O_ACCMODE)

/* freopen keeps the stream's descriptor, which then refers to another file. Without a path it is
 * the same file; the next call makes a record that says what it is. */
#define REOPEN(name)                                                                         \
  SESAME_HOOK(FILE*, name, (const char* path, const char* mode, FILE* old)) {                \
    sesame_forget(sesame_stream_file(old));                                                  \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(path, mode, old);               \
    sesame_add_stream_bytes(0, sesame_unwritten(sesame_buffered(old)));                      \
    uint64_t begin = sesame_enter();                                                         \
    FILE* stream = SESAME_REAL(name)(path, mode, old);                                       \
    if (path != NULL) {                                                                      \
      record_opening(begin, SESAME_CALL_freopen, stream, path, flags_of(mode));              \
    } else {                                                                                 \
      SESAME_RECORD_HANDLE(begin, freopen, stream == NULL ? -1 : sesame_stream_file(stream), \
                           stream == NULL);                                                  \
    }                                                                                        \
    return stream;                                                                           \
  }
REOPEN(freopen)
REOPEN(freopen64)

#define OPEN_DESCRIPTOR(name)                                             \
  SESAME_HOOK(FILE*, name, (int file, const char* mode)) {                \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, mode); \
    uint64_t begin = sesame_enter();                                      \
    FILE* stream = SESAME_REAL(name)(file, mode);                         \
    SESAME_RECORD_HANDLE(begin, fdopen, file, stream == NULL);            \
    return stream;                                                        \
  }
OPEN_DESCRIPTOR(fdopen)
OPEN_DESCRIPTOR(_IO_fdopen)

/* A stream in memory has no descriptor to close. */
#define CLOSE(name, call)                                                         \
  SESAME_HOOK(int, name, (FILE * stream)) {                                       \
    int file = sesame_stream_file(stream);                                        \
    sesame_forget(file);                                                          \
    if (file < 0 || !sesame_watches(SESAME_IO)) return SESAME_REAL(name)(stream); \
    sesame_add_stream_bytes(0, sesame_unwritten(sesame_buffered(stream)));        \
    uint64_t begin = sesame_enter();                                              \
    int result = SESAME_REAL(name)(stream);                                       \
    SESAME_RECORD_HANDLE(begin, call, file, result < 0);                          \
    return result;                                                                \
  }
CLOSE(fclose, fclose)
CLOSE(_IO_fclose, fclose)
CLOSE(pclose, pclose)

SESAME_HOOK(int, fcloseall, (void)) {
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(fcloseall)();
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(fcloseall)();
  SESAME_RECORD(plain, begin, .call = SESAME_CALL_fcloseall, .error = sesame_error(result < 0));
  return result;
}

/* --- Flushed ------------------------------------------------------------------------------ */

#define FLUSH(name)                                                                               \
  SESAME_HOOK(int, name, (FILE * stream)) {                                                       \
    int is_watched = stream == NULL ? sesame_watches(SESAME_IO) : sesame_watches_stream(stream);  \
    if (!is_watched) return SESAME_REAL(name)(stream);                                            \
    uint64_t begin = sesame_enter();                                                              \
    int result = SESAME_REAL(name)(stream);                                                       \
    if (stream == NULL) {                                                                         \
      SESAME_RECORD(plain, begin, .call = SESAME_CALL_fflush, .error = sesame_error(result < 0)); \
    } else {                                                                                      \
      SESAME_RECORD_HANDLE(begin, fflush, sesame_stream_file(stream), result < 0);                \
      sesame_count_emptied(stream, 0);                                                            \
    }                                                                                             \
    return result;                                                                                \
  }
FLUSH(fflush)
FLUSH(fflush_unlocked)
FLUSH(_IO_fflush)

SESAME_HOOK(void, _flushlbf, (void)) {
  if (!sesame_watches(SESAME_IO)) {
    SESAME_REAL(_flushlbf)();
    return;
  }
  uint64_t begin = sesame_enter();
  SESAME_REAL(_flushlbf)();
  SESAME_RECORD(plain, begin, .call = SESAME_CALL_fflush);
}

/* --- Positioned --------------------------------------------------------------------------- */

#define TELL(type, name, call, parameters, arguments)                          \
  SESAME_HOOK(type, name, parameters) {                                        \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments;    \
    uint64_t begin = sesame_enter();                                           \
    type result = SESAME_REAL(name) arguments;                                 \
    SESAME_RECORD_HANDLE(begin, call, sesame_stream_file(stream), result < 0); \
    sesame_count_emptied(stream, 0);                                           \
    return result;                                                             \
  }
TELL(long, ftell, ftell, (FILE * stream), (stream))
TELL(long, _IO_ftell, ftell, (FILE * stream), (stream))
TELL(off_t, ftello, ftell, (FILE * stream), (stream))
TELL(off_t, ftello64, ftell, (FILE * stream), (stream))
TELL(int, fgetpos, fgetpos, (FILE * stream, fpos_t* position), (stream, position))
TELL(int, fgetpos64, fgetpos, (FILE * stream, fpos_t* position), (stream, position))
TELL(int, _IO_fgetpos, fgetpos, (FILE * stream, fpos_t* position), (stream, position))
TELL(int, _IO_fgetpos64, fgetpos, (FILE * stream, fpos_t* position), (stream, position))

static void record_position(uint64_t begin, int call, FILE* stream, int failed) {
  uint64_t end = sesame_leave(begin);
  int saved = errno;
  uint16_t error = sesame_error(failed);
  struct sesame_position record = {
      .call = (uint16_t)call,
      .duration = sesame_ticks_to_ns(&sesame_stream.clock, end - begin),
      .file = sesame_stream_file(stream),
      .offset = failed ? -1 : SESAME_REAL(ftello64)(stream),
      .error = error};
  sesame_put_position(end, &record);
  errno = saved;
}

/* The part of the file that is in the buffer. */
typedef struct {
  int64_t begin;
  int64_t end; /* negative when it is unknown */
} Window;

static Window window_of(const FILE* stream) {
  return (Window){stream->_offset - (stream->_IO_read_end - stream->_IO_read_base),
                  stream->_offset};
}

/* A seek to inside the buffer reads nothing. */
static int is_read_again(const FILE* stream, Window before) {
  int64_t position = stream->_offset - (stream->_IO_read_end - stream->_IO_read_ptr);
  int is_inside = before.end >= 0 && position >= before.begin && position < before.end;
  return stream->_IO_read_end > stream->_IO_read_base && !is_inside;
}

#define SEEK(name, call, parameters, arguments)                             \
  SESAME_HOOK(int, name, parameters) {                                      \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    Window window = window_of(stream);                                      \
    uint64_t begin = sesame_enter();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    sesame_count_emptied(stream, is_read_again(stream, window));            \
    record_position(begin, SESAME_CALL_##call, stream, result < 0);         \
    return result;                                                          \
  }
SEEK(fseek, fseek, (FILE * stream, long offset, int from), (stream, offset, from))
SEEK(fseeko, fseek, (FILE * stream, off_t offset, int from), (stream, offset, from))
SEEK(fseeko64, fseek, (FILE * stream, off_t offset, int from), (stream, offset, from))
SEEK(fsetpos, fsetpos, (FILE * stream, const fpos_t* position), (stream, position))
SEEK(fsetpos64, fsetpos, (FILE * stream, const fpos_t* position), (stream, position))
SEEK(_IO_fsetpos, fsetpos, (FILE * stream, const fpos_t* position), (stream, position))
SEEK(_IO_fsetpos64, fsetpos, (FILE * stream, const fpos_t* position), (stream, position))

SESAME_HOOK(void, rewind, (FILE * stream)) {
  if (!sesame_watches_stream(stream)) {
    SESAME_REAL(rewind)(stream);
    return;
  }
  Window window = window_of(stream);
  uint64_t begin = sesame_enter();
  SESAME_REAL(rewind)(stream);
  sesame_count_emptied(stream, is_read_again(stream, window));
  record_position(begin, SESAME_CALL_rewind, stream, 0);
}

/* --- Blocks ------------------------------------------------------------------------------- */

#define BLOCK(name, call, pointer)                                                           \
  SESAME_HOOK(size_t, name, (pointer data, size_t size, size_t count, FILE * stream)) {      \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name)(data, size, count, stream); \
    uint64_t begin = sesame_enter();                                                         \
    size_t moved = SESAME_REAL(name)(data, size, count, stream);                             \
    sesame_record_stream(begin, SESAME_CALL_##call, stream, size* count, size* moved);       \
    return moved;                                                                            \
  }
BLOCK(fread, fread, void*)
BLOCK(fread_unlocked, fread, void*)
BLOCK(_IO_fread, fread, void*)
BLOCK(fwrite, fwrite, const void*)
BLOCK(fwrite_unlocked, fwrite, const void*)
BLOCK(_IO_fwrite, fwrite, const void*)

#define READ_CHECKED(name)                                                              \
  SESAME_HOOK(size_t, name,                                                             \
              (void* data, size_t capacity, size_t size, size_t count, FILE* stream)) { \
    if (!sesame_watches_stream(stream))                                                 \
      return SESAME_REAL(name)(data, capacity, size, count, stream);                    \
    uint64_t begin = sesame_enter();                                                    \
    size_t moved = SESAME_REAL(name)(data, capacity, size, count, stream);              \
    sesame_record_stream(begin, SESAME_CALL_fread, stream, size* count, size* moved);   \
    return moved;                                                                       \
  }
READ_CHECKED(__fread_chk)
READ_CHECKED(__fread_unlocked_chk)

/* --- Lines -------------------------------------------------------------------------------- */

#define PUT_LINE(name)                                                                   \
  SESAME_TEXT_HOOK(int, name, fputs, (const char* text, FILE* file), (text, file), file, \
                   result < 0 ? -1 : (ssize_t)strlen(text))
PUT_LINE(fputs)
PUT_LINE(fputs_unlocked)
PUT_LINE(_IO_fputs)

SESAME_TEXT_HOOK(int, puts, puts, (const char* text), (text), stdout, result)
SESAME_TEXT_HOOK(int, _IO_puts, puts, (const char* text), (text), stdout, result)

/* A line may contain zeros, so its length is what the call took from the buffer. Only if the call
 * may have filled the buffer more than once, it is the length of the text. */
static void record_line(uint64_t begin, int call, FILE* stream, SesameTaken before,
                        const char* text, size_t most) {
  size_t capacity = (size_t)(stream->_IO_buf_end - stream->_IO_buf_base);
  ssize_t moved = text == NULL       ? -1
                  : most <= capacity ? (ssize_t)sesame_taken(stream, before)
                                     : (ssize_t)strlen(text);
  sesame_record_text(begin, call, stream, moved);
}

#define GET_LINE(name, parameters, arguments, most)                         \
  SESAME_HOOK(char*, name, parameters) {                                    \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    SesameTaken before = sesame_take_before(stream);                        \
    uint64_t begin = sesame_enter();                                        \
    char* result = SESAME_REAL(name) arguments;                             \
    record_line(begin, SESAME_CALL_fgets, stream, before, result, most);    \
    return result;                                                          \
  }
GET_LINE(fgets, (char* text, int size, FILE* stream), (text, size, stream), (size_t)size)
GET_LINE(fgets_unlocked, (char* text, int size, FILE* stream), (text, size, stream), (size_t)size)
GET_LINE(_IO_fgets, (char* text, int size, FILE* stream), (text, size, stream), (size_t)size)
GET_LINE(__fgets_chk, (char* text, size_t capacity, int size, FILE* stream),
         (text, capacity, size, stream), (size_t)size)
GET_LINE(__fgets_unlocked_chk, (char* text, size_t capacity, int size, FILE* stream),
         (text, capacity, size, stream), (size_t)size)

#define GET_LINE_IN(name, parameters, arguments)                    \
  SESAME_TEXT_HOOK(char*, name, gets, parameters, arguments, stdin, \
                   result == NULL ? -1 : (ssize_t)strlen(text) + 1)
GET_LINE_IN(gets, (char* text), (text))
GET_LINE_IN(_IO_gets, (char* text), (text))
GET_LINE_IN(__gets_chk, (char* text, size_t capacity), (text, capacity))

#define GET_DELIMITED(name, call, parameters, arguments) \
  SESAME_TEXT_HOOK(ssize_t, name, call, parameters, arguments, file, result)
GET_DELIMITED(getline, getline, (char** text, size_t* size, FILE* file), (text, size, file))
GET_DELIMITED(getdelim, getdelim, (char** text, size_t* size, int delimiter, FILE* file),
              (text, size, delimiter, file))
GET_DELIMITED(__getdelim, getdelim, (char** text, size_t* size, int delimiter, FILE* file),
              (text, size, delimiter, file))

#define WORD(name, parameters, arguments)                        \
  SESAME_TEXT_HOOK(int, name, name, parameters, arguments, file, \
                   feof_unlocked(stream) || ferror_unlocked(stream) ? -1 : (ssize_t)sizeof(int))
WORD(putw, (int word, FILE* file), (word, file))
WORD(getw, (FILE * file), (file))
