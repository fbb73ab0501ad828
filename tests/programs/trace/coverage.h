/* Calls a function of the C library by its symbol's name, which need not be in any header, and
 * reports result and errno. Before each call comes one that names it, so that a trace shows
 * which records the call left: access("/mark/NAME"). */
#ifndef COVERAGE_H
#define COVERAGE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <wchar.h>

void mark(const char* name);
void report_number(const char* name, long result, int error);
void report_pointer(const char* name, const void* result, int error);
int has(const char* name); /* whether the C library has the function */

/* The number a call returned is in `last`, what it pointed to in `found`. */
extern long last;
extern void* found;

#define NUMBER(type, name, parameters, arguments)                         \
  do {                                                                    \
    extern type c_##name parameters __asm__(#name) __attribute__((weak)); \
    if (!has(#name)) break;                                               \
    mark(#name);                                                          \
    errno = 0;                                                            \
    last = (long)c_##name arguments;                                      \
    report_number(#name, last, errno);                                    \
  } while (0)
#define POINTER(name, parameters, arguments)                               \
  do {                                                                     \
    extern void* c_##name parameters __asm__(#name) __attribute__((weak)); \
    if (!has(#name)) break;                                                \
    mark(#name);                                                           \
    errno = 0;                                                             \
    found = c_##name arguments;                                            \
    report_pointer(#name, found, errno);                                   \
  } while (0)
#define NOTHING(name, parameters, arguments)                              \
  do {                                                                    \
    extern void c_##name parameters __asm__(#name) __attribute__((weak)); \
    if (!has(#name)) break;                                               \
    mark(#name);                                                          \
    errno = 0;                                                            \
    c_##name arguments;                                                   \
    report_number(#name, 0, errno);                                       \
  } while (0)
#define INT(name, parameters, arguments) NUMBER(int, name, parameters, arguments)
#define LONG(name, parameters, arguments) NUMBER(long, name, parameters, arguments)

/* A file with these bytes; its descriptor is at 0. */
int fresh_file(const char* name, const char* bytes);
FILE* fresh_stream(const char* name, const char* bytes, const char* mode);

void cover_data(void);
void cover_files(void);
void cover_descriptors(void);
void cover_names(void);
void cover_directories(void);
void cover_streams(void);
void cover_characters(void);
void cover_formats(void);
void cover_wide(void);
void cover_tables(void);
void cover_asynchronous(void);
void cover_mapped(void);
void cover_processes(void);

#endif
