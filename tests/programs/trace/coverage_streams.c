/* Streams of bytes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coverage.h"

#define TEXT "12 34\nsecond line\nthird\n56 78 90\n1 2 3 4 5 6 7 8 9\n"

static char data[256];

static void cover_opens(void) {
  POINTER(fopen, (const char*, const char*), ("s", "w+"));
  fclose(found);
  POINTER(fopen64, (const char*, const char*), ("not/there", "r"));
  POINTER(_IO_fopen, (const char*, const char*), ("s", "re"));
  POINTER(freopen, (const char*, const char*, FILE*), ("s", "a", found));
  POINTER(freopen64, (const char*, const char*, FILE*), ("s", "r+", found));
  INT(fclose, (FILE*), (found));
  POINTER(fdopen, (int, const char*), (open("s", O_RDONLY), "r"));
  INT(_IO_fclose, (FILE*), (found));
  POINTER(_IO_fdopen, (int, const char*), (open("s", O_RDONLY), "r"));
  fclose(found);
  POINTER(tmpfile, (void), ());
  fclose(found);
  POINTER(tmpfile64, (void), ());
  fclose(found);
  POINTER(popen, (const char*, const char*), ("exit 3", "r"));
  INT(pclose, (FILE*), (found));
  POINTER(_IO_popen, (const char*, const char*), ("exit 3", "w"));
  pclose(found);
}

static void cover_positions(FILE* stream) {
  fpos_t position;
  INT(fflush, (FILE*), (stream));
  INT(fflush_unlocked, (FILE*), (NULL));
  INT(_IO_fflush, (FILE*), (stream));
  NOTHING(_flushlbf, (void), ());
  INT(fseek, (FILE*, long, int), (stream, 3, SEEK_SET));
  INT(fseeko, (FILE*, off_t, int), (stream, 3, SEEK_CUR));
  INT(fseeko64, (FILE*, off_t, int), (stream, -300, SEEK_CUR));
  LONG(ftell, (FILE*), (stream));
  LONG(_IO_ftell, (FILE*), (stream));
  LONG(ftello, (FILE*), (stream));
  LONG(ftello64, (FILE*), (stream));
  INT(fgetpos, (FILE*, fpos_t*), (stream, &position));
  INT(fsetpos, (FILE*, const fpos_t*), (stream, &position));
  INT(fgetpos64, (FILE*, fpos_t*), (stream, &position));
  INT(fsetpos64, (FILE*, const fpos_t*), (stream, &position));
  INT(_IO_fgetpos, (FILE*, fpos_t*), (stream, &position));
  INT(_IO_fsetpos, (FILE*, const fpos_t*), (stream, &position));
  INT(_IO_fgetpos64, (FILE*, fpos_t*), (stream, &position));
  INT(_IO_fsetpos64, (FILE*, const fpos_t*), (stream, &position));
  NOTHING(rewind, (FILE*), (stream));
}

#define BLOCK (void*, size_t, size_t, FILE*)
#define CHECKED_BLOCK (void*, size_t, size_t, size_t, FILE*)
#define LINE (char*, int, FILE*)
#define CHECKED_LINE (char*, size_t, int, FILE*)

static void cover_input(void) {
  char* line = NULL;
  size_t capacity = 0;
  FILE* stream = fresh_stream("s", TEXT TEXT, "r+");
  cover_positions(stream);
  LONG(fread, BLOCK, (data, 3, 2, stream));
  LONG(fread_unlocked, BLOCK, (data, 1, 2, stream));
  LONG(_IO_fread, BLOCK, (data, 100, 2, stream));
  rewind(stream);
  LONG(__fread_chk, CHECKED_BLOCK, (data, sizeof data, 1, 2, stream));
  LONG(__fread_unlocked_chk, CHECKED_BLOCK, (data, sizeof data, 1, 2, stream));
  POINTER(fgets, LINE, (data, 100, stream));
  POINTER(fgets_unlocked, LINE, (data, 100, stream));
  POINTER(_IO_fgets, LINE, (data, 100, stream));
  POINTER(__fgets_chk, CHECKED_LINE, (data, sizeof data, 100, stream));
  POINTER(__fgets_unlocked_chk, CHECKED_LINE, (data, sizeof data, 5, stream));
  LONG(getline, (char**, size_t*, FILE*), (&line, &capacity, stream));
  LONG(getdelim, (char**, size_t*, int, FILE*), (&line, &capacity, ' ', stream));
  LONG(__getdelim, (char**, size_t*, int, FILE*), (&line, &capacity, ' ', stream));
  INT(getw, (FILE*), (stream));
  fclose(stream);
  free(line);
  freopen("s", "r", stdin);
  POINTER(gets, (char*), (data));
  POINTER(_IO_gets, (char*), (data));
  POINTER(__gets_chk, (char*, size_t), (data, sizeof data));
}

void cover_streams(void) {
  cover_opens();
  cover_input();
  FILE* stream = fopen("t", "w");
  LONG(fwrite, BLOCK, ("abcdef", 3, 2, stream));
  LONG(fwrite_unlocked, BLOCK, ("abcdef", 3, 2, stream));
  LONG(_IO_fwrite, BLOCK, ("abcdef", 3, 2, stream));
  INT(fputs, (const char*, FILE*), ("text", stream));
  INT(fputs_unlocked, (const char*, FILE*), ("text", stream));
  INT(_IO_fputs, (const char*, FILE*), ("text", stream));
  INT(putw, (int, FILE*), (5, stream));
  fclose(stream);
  freopen("t", "w", stdout);
  INT(puts, (const char*), ("text"));
  INT(_IO_puts, (const char*), ("text"));
}

void cover_characters(void) {
  FILE* stream = fresh_stream("s", TEXT, "r");
  INT(fgetc, (FILE*), (stream));
  INT(fgetc_unlocked, (FILE*), (stream));
  INT(getc, (FILE*), (stream));
  INT(getc_unlocked, (FILE*), (stream));
  INT(_IO_getc, (FILE*), (stream));
  INT(__underflow, (FILE*), (stream));
  INT(__uflow, (FILE*), (stream));
  fclose(stream);
  INT(getchar, (void), ());
  INT(getchar_unlocked, (void), ());
  stream = fopen("t", "w");
#define PUT (int, FILE*)
  INT(fputc, PUT, ('c', stream));
  INT(fputc_unlocked, PUT, ('c', stream));
  INT(putc, PUT, ('c', stream));
  INT(putc_unlocked, PUT, ('c', stream));
  INT(_IO_putc, PUT, ('c', stream));
  INT(__overflow, (FILE*, int), (stream, 0x63));
  fclose(stream);
  INT(putchar, (int), ('c'));
  INT(putchar_unlocked, (int), ('c'));
}

/* A call of the function with a list. */
#define LIST(name, parameters, arguments, ...)                     \
  static void list_##name(FILE* stream, const char* format, ...) { \
    va_list list;                                                  \
    (void)stream;                                                  \
    va_start(list, format);                                        \
    INT(name, parameters, arguments);                              \
    va_end(list);                                                  \
  }
#define PRINT_LIST (FILE*, const char*, va_list)
LIST(vfprintf, PRINT_LIST, (stream, format, list))
LIST(_IO_vfprintf, PRINT_LIST, (stream, format, list))
LIST(__vfprintf_chk, (FILE*, int, const char*, va_list), (stream, 1, format, list))
LIST(vprintf, (const char*, va_list), (format, list))
LIST(__vprintf_chk, (int, const char*, va_list), (1, format, list))
LIST(vdprintf, (int, const char*, va_list), (fileno(stream), format, list))
LIST(__vdprintf_chk, (int, int, const char*, va_list), (fileno(stream), 1, format, list))
LIST(vfscanf, PRINT_LIST, (stream, format, list))
LIST(__vfscanf, PRINT_LIST, (stream, format, list))
LIST(__isoc99_vfscanf, PRINT_LIST, (stream, format, list))
LIST(__isoc23_vfscanf, PRINT_LIST, (stream, format, list))
LIST(vscanf, (const char*, va_list), (format, list))
LIST(__isoc99_vscanf, (const char*, va_list), (format, list))
LIST(__isoc23_vscanf, (const char*, va_list), (format, list))

static void cover_prints(void) {
  FILE* stream = fopen("t", "w");
  INT(fprintf, (FILE*, const char*, ...), (stream, "%d %s\n", 5, "x"));
  INT(_IO_fprintf, (FILE*, const char*, ...), (stream, "%.3f\n", 1.5));
  INT(__fprintf_chk, (FILE*, int, const char*, ...), (stream, 1, "%d\n", 5));
  INT(printf, (const char*, ...), ("%d %g %s\n", 5, 2.5, "text"));
  INT(_IO_printf, (const char*, ...), ("%d\n", 5));
  INT(__printf_chk, (int, const char*, ...), (1, "%d\n", 5));
  INT(dprintf, (int, const char*, ...), (fileno(stream), "%d\n", 5));
  INT(__dprintf_chk, (int, int, const char*, ...), (fileno(stream), 1, "%d\n", 5));
  list_vfprintf(stream, "%d\n", 5);
  list__IO_vfprintf(stream, "%d\n", 5);
  list___vfprintf_chk(stream, "%d\n", 5);
  list_vprintf(stream, "%d\n", 5);
  list___vprintf_chk(stream, "%d\n", 5);
  list_vdprintf(stream, "%d\n", 5);
  list___vdprintf_chk(stream, "%d\n", 5);
  fclose(stream);
}

void cover_formats(void) {
  int number = 0;
  cover_prints();
#define SCAN (FILE*, const char*, ...)
#define SCAN_IN (const char*, ...)
  FILE* stream = fresh_stream("s", TEXT TEXT, "r");
  INT(fscanf, SCAN, (stream, "%d", &number));
  INT(__isoc99_fscanf, SCAN, (stream, "%d", &number));
  INT(__isoc23_fscanf, SCAN, (stream, "%d", &number));
  list_vfscanf(stream, "%9s", data);
  list___vfscanf(stream, "%9s", data);
  list___isoc99_vfscanf(stream, "%9s", data);
  list___isoc23_vfscanf(stream, "%9s", data);
  INT(fscanf, SCAN, (stream, "%d", &number));
  freopen("s", "r", stdin);
  INT(scanf, SCAN_IN, ("%d", &number));
  INT(__isoc99_scanf, SCAN_IN, ("%d", &number));
  INT(__isoc23_scanf, SCAN_IN, ("%d", &number));
  list_vscanf(stream, "%9s", data);
  list___isoc99_vscanf(stream, "%9s", data);
  list___isoc23_vscanf(stream, "%9s", data);
  fclose(stream);
}
