/* printf and scanf on streams and descriptors, narrow. */
#include "stdio_hooks.h"

/* --- printf ------------------------------------------------------------------------------- */

#define PRINT_LIST(name, call, parameters, arguments, target) \
  SESAME_TEXT_HOOK(int, name, call, parameters, arguments, target, result)
PRINT_LIST(vfprintf, vfprintf, (FILE * file, const char* format, va_list list),
           (file, format, list), file)
PRINT_LIST(_IO_vfprintf, vfprintf, (FILE * file, const char* format, va_list list),
           (file, format, list), file)
PRINT_LIST(__vfprintf_chk, vfprintf, (FILE * file, int flag, const char* format, va_list list),
           (file, flag, format, list), file)

SESAME_PRINT_HOOK(fprintf, fprintf, (FILE * file, const char* format, ...), file, vfprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(_IO_fprintf, fprintf, (FILE * file, const char* format, ...), file, vfprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(__fprintf_chk, fprintf, (FILE * file, int flag, const char* format, ...), file,
                  __vfprintf_chk, (stream, flag, format, list))
SESAME_PRINT_HOOK(printf, printf, (const char* format, ...), stdout, vfprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(_IO_printf, printf, (const char* format, ...), stdout, vfprintf,
                  (stream, format, list))
SESAME_PRINT_HOOK(__printf_chk, printf, (int flag, const char* format, ...), stdout, __vfprintf_chk,
                  (stream, flag, format, list))

PRINT_LIST(vprintf, vprintf, (const char* format, va_list list), (format, list), stdout)
PRINT_LIST(__vprintf_chk, vprintf, (int flag, const char* format, va_list list),
           (flag, format, list), stdout)

/* --- printf to a descriptor --------------------------------------------------------------- */

#define PRINT_DESCRIPTOR_LIST(name, parameters, arguments)                                        \
  SESAME_HOOK(int, name, parameters) {                                                            \
    if (!sesame_watches_file(file)) return SESAME_REAL(name) arguments;                           \
    uint64_t begin = sesame_enter();                                                              \
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
    uint64_t begin = is_watched ? sesame_enter() : 0;                                              \
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

#define SCAN_LIST_OF(name, call)                                                     \
  SESAME_SCAN_LIST_HOOK(name, call, (FILE * file, const char* format, va_list list), \
                        (file, format, list), file)
#define SCAN_LIST_IN(name, call) \
  SESAME_SCAN_LIST_HOOK(name, call, (const char* format, va_list list), (format, list), stdin)
SCAN_LIST_OF(vfscanf, vfscanf)
SCAN_LIST_OF(__vfscanf, vfscanf)
SCAN_LIST_OF(__isoc99_vfscanf, vfscanf)
SCAN_LIST_OF(__isoc23_vfscanf, vfscanf)
SCAN_LIST_IN(vscanf, vscanf)
SCAN_LIST_IN(__isoc99_vscanf, vscanf)
SCAN_LIST_IN(__isoc23_vscanf, vscanf)

SESAME_SCAN_HOOK(fscanf, fscanf, (FILE * file, const char* format, ...), file, vfscanf)
SESAME_SCAN_HOOK(__isoc99_fscanf, fscanf, (FILE * file, const char* format, ...), file,
                 __isoc99_vfscanf)
SESAME_SCAN_HOOK(__isoc23_fscanf, fscanf, (FILE * file, const char* format, ...), file,
                 __isoc23_vfscanf)
SESAME_SCAN_HOOK(scanf, scanf, (const char* format, ...), stdin, vfscanf)
SESAME_SCAN_HOOK(__isoc99_scanf, scanf, (const char* format, ...), stdin, __isoc99_vfscanf)
SESAME_SCAN_HOOK(__isoc23_scanf, scanf, (const char* format, ...), stdin, __isoc23_vfscanf)
