/* printf and scanf on streams and descriptors, narrow. */
#include "stdio_hooks.h"

/* --- printf ------------------------------------------------------------------------------- */

/* The real one with a va_list, and a hook around it. */
#define PRINT_LIST(name, call, parameters, arguments)                       \
  SESAME_HOOK(int, name, parameters) {                                      \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_ticks();                                        \
    int moved = SESAME_REAL(name) arguments;                                \
    sesame_record_text(begin, SESAME_CALL_##call, stream, moved);           \
    return moved;                                                           \
  }
PRINT_LIST(vfprintf, vfprintf, (FILE * stream, const char* format, va_list list),
           (stream, format, list))
PRINT_LIST(_IO_vfprintf, vfprintf, (FILE * stream, const char* format, va_list list),
           (stream, format, list))
PRINT_LIST(__vfprintf_chk, vfprintf, (FILE * stream, int flag, const char* format, va_list list),
           (stream, flag, format, list))

#define PRINT(name, call, parameters, last, target, list_name, arguments)         \
  SESAME_HOOK(int, name, parameters) {                                            \
    FILE* stream = target;                                                        \
    va_list list;                                                                 \
    va_start(list, last);                                                         \
    int is_watched = sesame_watches_stream(stream);                               \
    uint64_t begin = is_watched ? sesame_ticks() : 0;                             \
    int moved = SESAME_REAL(list_name) arguments;                                 \
    va_end(list);                                                                 \
    if (is_watched) sesame_record_text(begin, SESAME_CALL_##call, stream, moved); \
    return moved;                                                                 \
  }
PRINT(fprintf, fprintf, (FILE * file, const char* format, ...), format, file, vfprintf,
      (stream, format, list))
PRINT(_IO_fprintf, fprintf, (FILE * file, const char* format, ...), format, file, vfprintf,
      (stream, format, list))
PRINT(__fprintf_chk, fprintf, (FILE * file, int flag, const char* format, ...), format, file,
      __vfprintf_chk, (stream, flag, format, list))
PRINT(printf, printf, (const char* format, ...), format, stdout, vfprintf, (stream, format, list))
PRINT(_IO_printf, printf, (const char* format, ...), format, stdout, vfprintf,
      (stream, format, list))
PRINT(__printf_chk, printf, (int flag, const char* format, ...), format, stdout, __vfprintf_chk,
      (stream, flag, format, list))

#define PRINT_LIST_OUT(name, parameters, arguments)                         \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = stdout;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_ticks();                                        \
    int moved = SESAME_REAL(name) arguments;                                \
    sesame_record_text(begin, SESAME_CALL_vprintf, stream, moved);          \
    return moved;                                                           \
  }
PRINT_LIST_OUT(vprintf, (const char* format, va_list list), (format, list))
PRINT_LIST_OUT(__vprintf_chk, (int flag, const char* format, va_list list), (flag, format, list))

/* --- printf to a descriptor --------------------------------------------------------------- */

#define PRINT_DESCRIPTOR_LIST(name, parameters, arguments)                                        \
  SESAME_HOOK(int, name, parameters) {                                                            \
    if (!sesame_watches_file(file)) return SESAME_REAL(name) arguments;                           \
    uint64_t begin = sesame_ticks();                                                              \
    int moved = SESAME_REAL(name) arguments;                                                      \
    sesame_record_moved(begin, SESAME_CALL_vdprintf, file, moved < 0 ? 0 : (size_t)moved, moved); \
    return moved;                                                                                 \
  }
PRINT_DESCRIPTOR_LIST(vdprintf, (int file, const char* format, va_list list), (file, format, list))
PRINT_DESCRIPTOR_LIST(__vdprintf_chk, (int file, int flag, const char* format, va_list list),
                      (file, flag, format, list))

#define PRINT_DESCRIPTOR(name, parameters, list_name, arguments)                                   \
  SESAME_HOOK(int, name, parameters) {                                                             \
    va_list list;                                                                                  \
    va_start(list, format);                                                                        \
    int is_watched = sesame_watches_file(file);                                                    \
    uint64_t begin = is_watched ? sesame_ticks() : 0;                                              \
    int moved = SESAME_REAL(list_name) arguments;                                                  \
    va_end(list);                                                                                  \
    if (is_watched) {                                                                              \
      sesame_record_moved(begin, SESAME_CALL_dprintf, file, moved < 0 ? 0 : (size_t)moved, moved); \
    }                                                                                              \
    return moved;                                                                                  \
  }
PRINT_DESCRIPTOR(dprintf, (int file, const char* format, ...), vdprintf, (file, format, list))
PRINT_DESCRIPTOR(__dprintf_chk, (int file, int flag, const char* format, ...), __vdprintf_chk,
                 (file, flag, format, list))

/* --- scanf -------------------------------------------------------------------------------- */

/* It returns what it converted, so the data moved is what it took from the buffer. */
static void record_scan(uint64_t begin, int call, FILE* stream, SesameTaken before, int result) {
  sesame_record_text(begin, call, stream, result < 0 ? -1 : (ssize_t)sesame_taken(stream, before));
}

#define SCAN_LIST(name, call, parameters, target, arguments)                \
  SESAME_HOOK(int, name, parameters) {                                      \
    FILE* stream = target;                                                  \
    if (!sesame_watches_stream(stream)) return SESAME_REAL(name) arguments; \
    SesameTaken before = sesame_take_before(stream);                        \
    uint64_t begin = sesame_ticks();                                        \
    int result = SESAME_REAL(name) arguments;                               \
    record_scan(begin, SESAME_CALL_##call, stream, before, result);         \
    return result;                                                          \
  }
#define SCAN_LIST_OF(name, call) \
  SCAN_LIST(name, call, (FILE * file, const char* format, va_list list), file, (file, format, list))
#define SCAN_LIST_IN(name, call) \
  SCAN_LIST(name, call, (const char* format, va_list list), stdin, (format, list))
SCAN_LIST_OF(vfscanf, vfscanf)
SCAN_LIST_OF(__vfscanf, vfscanf)
SCAN_LIST_OF(__isoc99_vfscanf, vfscanf)
SCAN_LIST_OF(__isoc23_vfscanf, vfscanf)
SCAN_LIST_IN(vscanf, vscanf)
SCAN_LIST_IN(__isoc99_vscanf, vscanf)
SCAN_LIST_IN(__isoc23_vscanf, vscanf)

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
SCAN(fscanf, fscanf, (FILE * file, const char* format, ...), file, vfscanf)
SCAN(__isoc99_fscanf, fscanf, (FILE * file, const char* format, ...), file, __isoc99_vfscanf)
SCAN(__isoc23_fscanf, fscanf, (FILE * file, const char* format, ...), file, __isoc23_vfscanf)
SCAN(scanf, scanf, (const char* format, ...), stdin, vfscanf)
SCAN(__isoc99_scanf, scanf, (const char* format, ...), stdin, __isoc99_vfscanf)
SCAN(__isoc23_scanf, scanf, (const char* format, ...), stdin, __isoc23_vfscanf)
