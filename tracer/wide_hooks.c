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

#define CHARACTER(name, call, parameters, arguments, target)          \
  SESAME_TEXT_HOOK(wint_t, name, call, parameters, arguments, target, \
                   result == WEOF ? -1 : bytes_of((wchar_t)result))
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

#define GET_LINE(name, parameters, arguments)                           \
  SESAME_TEXT_HOOK(wchar_t*, name, fgetws, parameters, arguments, file, \
                   result == NULL ? -1 : bytes_of_text(text))
GET_LINE(fgetws, (wchar_t * text, int size, FILE* file), (text, size, file))
GET_LINE(fgetws_unlocked, (wchar_t * text, int size, FILE* file), (text, size, file))
GET_LINE(__fgetws_chk, (wchar_t * text, size_t capacity, int size, FILE* file),
         (text, capacity, size, file))
GET_LINE(__fgetws_unlocked_chk, (wchar_t * text, size_t capacity, int size, FILE* file),
         (text, capacity, size, file))

#define PUT_LINE(name)                                                                       \
  SESAME_TEXT_HOOK(int, name, fputws, (const wchar_t* text, FILE* file), (text, file), file, \
                   result < 0 ? -1 : bytes_of_text(text))
PUT_LINE(fputws)
PUT_LINE(fputws_unlocked)

/* --- Formats: the data of output is counted in characters ----------------------------------- */

#define PRINT_LIST(name, call, parameters, arguments, target) \
  SESAME_TEXT_HOOK(int, name, call, parameters, arguments, target, result)
PRINT_LIST(vfwprintf, vfwprintf, (FILE * file, const wchar_t* format, va_list list),
           (file, format, list), file)
PRINT_LIST(__vfwprintf_chk, vfwprintf, (FILE * file, int flag, const wchar_t* format, va_list list),
           (file, flag, format, list), file)
PRINT_LIST(vwprintf, vwprintf, (const wchar_t* format, va_list list), (format, list), stdout)
PRINT_LIST(__vwprintf_chk, vwprintf, (int flag, const wchar_t* format, va_list list),
           (flag, format, list), stdout)

SESAME_PRINT_HOOK(fwprintf, fwprintf, (FILE * file, const wchar_t* format, ...), file, vfwprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(__fwprintf_chk, fwprintf, (FILE * file, int flag, const wchar_t* format, ...),
                  file, __vfwprintf_chk, (stream, flag, format, list))
SESAME_PRINT_HOOK(wprintf, wprintf, (const wchar_t* format, ...), stdout, vfwprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(__wprintf_chk, wprintf, (int flag, const wchar_t* format, ...), stdout,
                  __vfwprintf_chk, (stream, flag, format, list))

#define SCAN_LIST_OF(name)                                                                  \
  SESAME_SCAN_LIST_HOOK(name, vfwscanf, (FILE * file, const wchar_t* format, va_list list), \
                        (file, format, list), file)
#define SCAN_LIST_IN(name) \
  SESAME_SCAN_LIST_HOOK(name, vwscanf, (const wchar_t* format, va_list list), (format, list), stdin)
SCAN_LIST_OF(vfwscanf)
SCAN_LIST_OF(__isoc99_vfwscanf)
SCAN_LIST_OF(__isoc23_vfwscanf)
SCAN_LIST_IN(vwscanf)
SCAN_LIST_IN(__isoc99_vwscanf)
SCAN_LIST_IN(__isoc23_vwscanf)

SESAME_SCAN_HOOK(fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file, vfwscanf)
SESAME_SCAN_HOOK(__isoc99_fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file,
                 __isoc99_vfwscanf)
SESAME_SCAN_HOOK(__isoc23_fwscanf, fwscanf, (FILE * file, const wchar_t* format, ...), file,
                 __isoc23_vfwscanf)
SESAME_SCAN_HOOK(wscanf, wscanf, (const wchar_t* format, ...), stdin, vfwscanf)
SESAME_SCAN_HOOK(__isoc99_wscanf, wscanf, (const wchar_t* format, ...), stdin, __isoc99_vfwscanf)
SESAME_SCAN_HOOK(__isoc23_wscanf, wscanf, (const wchar_t* format, ...), stdin, __isoc23_vfwscanf)
