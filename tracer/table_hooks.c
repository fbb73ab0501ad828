/* Functions of the C library that read or write entries of system tables, such as /etc/passwd, or
 * reports, on a stream of the program. */
#include <fcntl.h>

#include "stdio_hooks.h"

/* Entries are small, so the change of the stream's buffer is their size. */
#define GET(type, name, call, parameters, arguments, is_end)                \
  SESAME_HOOK(type, name, parameters) {                                     \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    SesameTaken before = sesame_take_before(stream);                        \
    uint64_t begin = sesame_enter();                                        \
    type result = SESAME_REAL(name) arguments;                              \
    ssize_t moved = (is_end) ? -1 : (ssize_t)sesame_taken(stream, before);  \
    sesame_record_text(begin, SESAME_CALL_##call, stream, moved);           \
    return result;                                                          \
  }
#define GET_STATIC(name) GET(void*, name, name, (FILE * stream), (stream), result == NULL)
#define GET_INTO(name, call)                                                                  \
  GET(int, name, call, (FILE * stream, void* entry, char* buffer, size_t size, void** found), \
      (stream, entry, buffer, size, found), result != 0)
GET_STATIC(fgetpwent)
GET_STATIC(fgetgrent)
GET_STATIC(fgetspent)
GET_STATIC(fgetsgent)
GET_STATIC(getmntent)
GET_INTO(fgetpwent_r, fgetpwent)
GET_INTO(fgetgrent_r, fgetgrent)
GET_INTO(fgetspent_r, fgetspent)
GET_INTO(fgetsgent_r, fgetsgent)
GET(void*, getmntent_r, getmntent, (FILE * stream, void* entry, char* buffer, int size),
    (stream, entry, buffer, size), result == NULL)
GET(void*, __getmntent_r, getmntent, (FILE * stream, void* entry, char* buffer, int size),
    (stream, entry, buffer, size), result == NULL)

/* Bytes in the buffer that are not written yet. */
static ssize_t buffered(const FILE* stream) {
  return stream->_IO_write_ptr - stream->_IO_write_base;
}

#define PUT(name, parameters, arguments)                                    \
  SESAME_HOOK(int, name, parameters) {                                      \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    ssize_t before = buffered(stream);                                      \
    uint64_t begin = sesame_enter();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    ssize_t moved = buffered(stream) - before;                              \
    sesame_record_text(begin, SESAME_CALL_##name, stream,                   \
                       result != 0 ? -1                                     \
                       : moved < 0 ? buffered(stream)                       \
                                   : moved);                                \
    return result;                                                          \
  }
PUT(putpwent, (const void* entry, FILE* stream), (entry, stream))
PUT(putgrent, (const void* entry, FILE* stream), (entry, stream))
PUT(putspent, (const void* entry, FILE* stream), (entry, stream))
PUT(putsgent, (const void* entry, FILE* stream), (entry, stream))
PUT(addmntent, (FILE * stream, const void* entry), (stream, entry))
PUT(malloc_info, (int options, FILE* stream), (options, stream))

#define OPEN(name)                                                                     \
  SESAME_HOOK(FILE*, name, (const char* path, const char* mode)) {                     \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(path, mode);              \
    uint64_t begin = sesame_enter();                                                   \
    FILE* stream = SESAME_REAL(name)(path, mode);                                      \
    int file = stream == NULL ? -1 : sesame_stream_file(stream);                       \
    sesame_record_open(begin, SESAME_CALL_setmntent, file, AT_FDCWD, path, O_CLOEXEC); \
    return stream;                                                                     \
  }
OPEN(setmntent)
OPEN(__setmntent)

#define CLOSE(name)                                                               \
  SESAME_HOOK(int, name, (FILE * stream)) {                                       \
    int file = stream == NULL ? -1 : sesame_stream_file(stream);                  \
    sesame_forget(file);                                                          \
    if (file < 0 || !sesame_watches(SESAME_IO)) return SESAME_REAL(name)(stream); \
    uint64_t begin = sesame_enter();                                              \
    int result = SESAME_REAL(name)(stream);                                       \
    SESAME_RECORD_HANDLE(begin, endmntent, file, 0);                              \
    return result;                                                                \
  }
CLOSE(endmntent)
CLOSE(__endmntent)

/* The size of the text is not known, so the record has none. */
#define TRACE_BACK(name)                                                \
  SESAME_HOOK(void, name, (void* const* frames, int count, int file)) { \
    if (!sesame_watches_file(file)) {                                   \
      SESAME_REAL(name)(frames, count, file);                           \
      return;                                                           \
    }                                                                   \
    uint64_t begin = sesame_enter();                                    \
    SESAME_REAL(name)(frames, count, file);                             \
    SESAME_RECORD_HANDLE(begin, backtrace_symbols_fd, file, 0);         \
  }
TRACE_BACK(backtrace_symbols_fd)
TRACE_BACK(__backtrace_symbols_fd)
