/* Streams of wide characters. */
#include <stdlib.h>

#include "stdio_hooks.h"

/* --- Characters and lines ----------------------------------------------------------------- */

/* Bytes that a character takes in the file, in the program's locale. Keeps errno. */
static ssize_t bytes_of(wchar_t character) {
  char bytes[16];
  if ((unsigned)character < 0x80) return 1;
  int saved = errno;
  mbstate_t state = {0};
  size_t size = wcrtomb(bytes, character, &state);
  errno = saved;
  return size == (size_t)-1 ? 1 : (ssize_t)size;
}

static ssize_t bytes_of_text(const wchar_t* text) {
  ssize_t size = 0;
  for (; *text != L'\0'; ++text) size += bytes_of(*text);
  return size;
}

#define CHARACTER(name, call, parameters, arguments, target)                \
  SESAME_HOOK(wint_t, name, parameters) {                                   \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_ticks();                                        \
    wint_t result = SESAME_REAL(name) arguments;                            \
    sesame_record_text(begin, SESAME_CALL_##call, stream,                   \
                       result == WEOF ? -1 : bytes_of((wchar_t)result));    \
    return result;                                                          \
  }
#define GET(name, call) CHARACTER(name, call, (FILE * file), (file), file)
#define PUT(name, call) CHARACTER(name, call, (wchar_t c, FILE * file), (c, file), file)
GET(fgetwc, fgetwc)
GET(fgetwc_unlocked, fgetwc)
GET(getwc, fgetwc)
GET(getwc_unlocked, fgetwc)
CHARACTER(getwchar, getwchar, (void), (), stdin)
CHARACTER(getwchar_unlocked, getwchar, (void), (), stdin)
PUT(fputwc, fputwc)
PUT(fputwc_unlocked, fputwc)
PUT(putwc, fputwc)
PUT(putwc_unlocked, fputwc)
CHARACTER(putwchar, putwchar, (wchar_t c), (c), stdout)
CHARACTER(putwchar_unlocked, putwchar, (wchar_t c), (c), stdout)

#define GET_LINE(name, parameters, arguments)                               \
  SESAME_HOOK(wchar_t*, name, parameters) {                                 \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_ticks();                                        \
    wchar_t* result = SESAME_REAL(name) arguments;                          \
    sesame_record_text(begin, SESAME_CALL_fgetws, stream,                   \
                       result == NULL ? -1 : bytes_of_text(text));          \
    return result;                                                          \
  }
GET_LINE(fgetws, (wchar_t * text, int size, FILE* stream), (text, size, stream))
GET_LINE(fgetws_unlocked, (wchar_t * text, int size, FILE* stream), (text, size, stream))
GET_LINE(__fgetws_chk, (wchar_t * text, size_t room, int size, FILE* stream),
         (text, room, size, stream))
GET_LINE(__fgetws_unlocked_chk, (wchar_t * text, size_t room, int size, FILE* stream),
         (text, room, size, stream))

#define PUT_LINE(name)                                                                            \
  SESAME_HOOK(int, name, (const wchar_t* text, FILE* stream)) {                                   \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name)(text, stream);                   \
    uint64_t begin = sesame_ticks();                                                              \
    int result = SESAME_REAL(name)(text, stream);                                                 \
    sesame_record_text(begin, SESAME_CALL_fputws, stream, result < 0 ? -1 : bytes_of_text(text)); \
    return result;                                                                                \
  }
PUT_LINE(fputws)
PUT_LINE(fputws_unlocked)

/* --- Formats: the data of output is counted in characters ----------------------------------- */

#define PRINT_LIST(name, call, parameters, arguments, target)               \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_ticks();                                        \
    int moved = SESAME_REAL(name) arguments;                                \
    sesame_record_text(begin, SESAME_CALL_##call, stream, moved);           \
    return moved;                                                           \
  }
PRINT_LIST(vfwprintf, vfwprintf, (FILE * file, const wchar_t* format, va_list list),
           (file, format, list), file)
PRINT_LIST(__vfwprintf_chk, vfwprintf, (FILE * file, int flag, const wchar_t* format, va_list list),
           (file, flag, format, list), file)
PRINT_LIST(vwprintf, vwprintf, (const wchar_t* format, va_list list), (format, list), stdout)
PRINT_LIST(__vwprintf_chk, vwprintf, (int flag, const wchar_t* format, va_list list),
           (flag, format, list), stdout)

#define PRINT(name, call, parameters, target, list_name, arguments)               \
  SESAME_HOOK(int, name, parameters) {                                            \
    FILE* stream = target;                                                        \
    va_list list;                                                                 \
    va_start(list, format);                                                       \
    int is_watched = sesame_watches_stream(stream);                               \
    uint64_t begin = is_watched ? sesame_ticks() : 0;                             \
    int moved = SESAME_REAL(list_name) arguments;                                 \
    va_end(list);                                                                 \
    if (is_watched) sesame_record_text(begin, SESAME_CALL_##call, stream, moved); \
    return moved;                                                                 \
  }
PRINT(fwprintf, fwprintf, (FILE * file, const wchar_t* format, ...), file, vfwprintf,
      (stream, format, list))
PRINT(__fwprintf_chk, fwprintf, (FILE * file, int flag, const wchar_t* format, ...), file,
      __vfwprintf_chk, (stream, flag, format, list))
PRINT(wprintf, wprintf, (const wchar_t* format, ...), stdout, vfwprintf, (stream, format, list))
PRINT(__wprintf_chk, wprintf, (int flag, const wchar_t* format, ...), stdout, __vfwprintf_chk,
      (stream, flag, format, list))

static void record_scan(uint64_t begin, int call, FILE* stream, SesameTaken before, int result) {
  sesame_record_text(begin, call, stream, result < 0 ? -1 : (ssize_t)sesame_taken(stream, before));
}

#define SCAN_LIST(name, call, parameters, arguments, target)                \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    SesameTaken before = sesame_take_before(stream);                        \
    uint64_t begin = sesame_ticks();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    record_scan(begin, SESAME_CALL_##call, stream, before, result);         \
    return result;                                                          \
  }
#define SCAN_LIST_OF(name)                                                      \
  SCAN_LIST(name, vfwscanf, (FILE * file, const wchar_t* format, va_list list), \
            (file, format, list), file)
#define SCAN_LIST_IN(name) \
  SCAN_LIST(name, vwscanf, (const wchar_t* format, va_list list), (format, list), stdin)
SCAN_LIST_OF(vfwscanf)
SCAN_LIST_OF(__isoc99_vfwscanf)
SCAN_LIST_OF(__isoc23_vfwscanf)
SCAN_LIST_IN(vwscanf)
SCAN_LIST_IN(__isoc99_vwscanf)
SCAN_LIST_IN(__isoc23_vwscanf)

#define SCAN(name, call, parameters, target, list_name)                             \
  SESAME_HOOK(int, name, parameters) {                                              \
    FILE* stream = target;                                                          \
    va_list list;                                                                   \
    va_start(list, format);                                                         \
    int is_watched = sesame_watches_stream(stream);                                 \
    SesameTaken before = sesame_take_before(stream);                                \
    uint64_t begin = is_watched ? sesame_ticks() : 0;                               \
    int result = SESAME_REAL(list_name)(stream, format, list);                      \
    va_end(list);                                                                   \
    if (is_watched) record_scan(begin, SESAME_CALL_##call, stream, before, result); \
    return result;                                                                  \
  }
SCAN(fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file, vfwscanf)
SCAN(__isoc99_fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file, __isoc99_vfwscanf)
SCAN(__isoc23_fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file, __isoc23_vfwscanf)
SCAN(wscanf, wscanf, (const wchar_t* format, ...), stdin, vfwscanf)
SCAN(__isoc99_wscanf, wscanf, (const wchar_t* format, ...), stdin, __isoc99_vfwscanf)
SCAN(__isoc23_wscanf, wscanf, (const wchar_t* format, ...), stdin, __isoc23_vfwscanf)
