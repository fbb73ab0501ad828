/* Wide streams, tables of the system, asynchronous I/O, mapped files, processes. */
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <grp.h>
#include <gshadow.h>
#include <mntent.h>
#include <pwd.h>
#include <sched.h>
#include <shadow.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coverage.h"

/* --- Wide streams --------------------------------------------------------------------------- */

#define TEXT "12 34\nsecond line\nthird\n56 78 90\n1 2 3 4 5 6 7 8 9\n"

/* A call of the function with a list. */
#define LIST(name, parameters, arguments)                             \
  static void list_##name(FILE* stream, const wchar_t* format, ...) { \
    va_list list;                                                     \
    (void)stream;                                                     \
    va_start(list, format);                                           \
    INT(name, parameters, arguments);                                 \
    va_end(list);                                                     \
  }
#define FORMATTED (FILE*, const wchar_t*, va_list)
LIST(vfwprintf, FORMATTED, (stream, format, list))
LIST(__vfwprintf_chk, (FILE*, int, const wchar_t*, va_list), (stream, 1, format, list))
LIST(vwprintf, (const wchar_t*, va_list), (format, list))
LIST(__vwprintf_chk, (int, const wchar_t*, va_list), (1, format, list))
LIST(vfwscanf, FORMATTED, (stream, format, list))
LIST(__isoc99_vfwscanf, FORMATTED, (stream, format, list))
LIST(__isoc23_vfwscanf, FORMATTED, (stream, format, list))
LIST(vwscanf, (const wchar_t*, va_list), (format, list))
LIST(__isoc99_vwscanf, (const wchar_t*, va_list), (format, list))
LIST(__isoc23_vwscanf, (const wchar_t*, va_list), (format, list))

static void cover_wide_output(void) {
  FILE* stream = fopen("t", "w");
  freopen("u", "w", stdout);
  INT(fputwc, (wchar_t, FILE*), (L'c', stream));
  INT(fputwc_unlocked, (wchar_t, FILE*), (L'c', stream));
  INT(putwc, (wchar_t, FILE*), (L'c', stream));
  INT(putwc_unlocked, (wchar_t, FILE*), (L'c', stream));
  INT(putwchar, (wchar_t), (L'c'));
  INT(putwchar_unlocked, (wchar_t), (L'c'));
  INT(fputws, (const wchar_t*, FILE*), (L"text", stream));
  INT(fputws_unlocked, (const wchar_t*, FILE*), (L"text", stream));
  INT(fwprintf, (FILE*, const wchar_t*, ...), (stream, L"%d\n", 5));
  INT(__fwprintf_chk, (FILE*, int, const wchar_t*, ...), (stream, 1, L"%d\n", 5));
  INT(wprintf, (const wchar_t*, ...), (L"%d %g\n", 5, 2.5));
  INT(__wprintf_chk, (int, const wchar_t*, ...), (1, L"%d\n", 5));
  list_vfwprintf(stream, L"%d\n", 5);
  list___vfwprintf_chk(stream, L"%d\n", 5);
  list_vwprintf(stream, L"%d\n", 5);
  list___vwprintf_chk(stream, L"%d\n", 5);
  fclose(stream);
}

static void cover_wide_formats(FILE* stream) {
  int number = 0;
  wchar_t word[16];
  INT(fwscanf, (FILE*, const wchar_t*, ...), (stream, L"%d", &number));
  INT(__isoc99_fwscanf, (FILE*, const wchar_t*, ...), (stream, L"%d", &number));
  INT(__isoc23_fwscanf, (FILE*, const wchar_t*, ...), (stream, L"%d", &number));
  INT(wscanf, (const wchar_t*, ...), (L"%d", &number));
  INT(__isoc99_wscanf, (const wchar_t*, ...), (L"%d", &number));
  INT(__isoc23_wscanf, (const wchar_t*, ...), (L"%d", &number));
  list_vfwscanf(stream, L"%9ls", word);
  list___isoc99_vfwscanf(stream, L"%9ls", word);
  list___isoc23_vfwscanf(stream, L"%9ls", word);
  list_vwscanf(stream, L"%9ls", word);
  list___isoc99_vwscanf(stream, L"%9ls", word);
  list___isoc23_vwscanf(stream, L"%9ls", word);
}

void cover_wide(void) {
  wchar_t line[64];
  FILE* stream = fresh_stream("s", TEXT TEXT, "r");
  freopen("s", "r", stdin);
  INT(fgetwc, (FILE*), (stream));
  INT(fgetwc_unlocked, (FILE*), (stream));
  INT(getwc, (FILE*), (stream));
  INT(getwc_unlocked, (FILE*), (stream));
  INT(getwchar, (void), ());
  INT(getwchar_unlocked, (void), ());
  POINTER(fgetws, (wchar_t*, int, FILE*), (line, 64, stream));
  POINTER(fgetws_unlocked, (wchar_t*, int, FILE*), (line, 64, stream));
  POINTER(__fgetws_chk, (wchar_t*, size_t, int, FILE*), (line, 64, 64, stream));
  POINTER(__fgetws_unlocked_chk, (wchar_t*, size_t, int, FILE*), (line, 64, 5, stream));
  cover_wide_formats(stream);
  fclose(stream);
  cover_wide_output();
}

/* --- Tables of the system ------------------------------------------------------------------- */

#define USERS "root:x:0:0:root:/root:/bin/sh\nuser:x:9:9:user:/home:/bin/sh\n"
#define GROUPS "root:x:0:\nuser:x:9:a,b\n"
#define SHADOWS "root:*:1:0:9:7:::\nuser:*:1:0:9:7:::\n"
#define MOUNTS "/dev/a / ext4 rw 0 0\n/dev/b /b ext4 rw 0 0\n/dev/c /c ext4 rw 0 0\n"

static char buffer[1024], entry_buffer[256];

#define INTO (FILE*, void*, char*, size_t, void**)

static void cover_input_of_tables(void) {
  FILE* stream = fresh_stream("s", USERS, "r");
  POINTER(fgetpwent, (FILE*), (stream));
  INT(fgetpwent_r, INTO, (stream, entry_buffer, buffer, sizeof buffer, &found));
  fclose(stream);
  stream = fresh_stream("s", GROUPS, "r");
  POINTER(fgetgrent, (FILE*), (stream));
  INT(fgetgrent_r, INTO, (stream, entry_buffer, buffer, sizeof buffer, &found));
  fclose(stream);
  stream = fresh_stream("s", SHADOWS, "r");
  POINTER(fgetspent, (FILE*), (stream));
  INT(fgetspent_r, INTO, (stream, entry_buffer, buffer, sizeof buffer, &found));
  fclose(stream);
  stream = fresh_stream("s", "root:*::\nuser:*::a,b\n", "r");
  POINTER(fgetsgent, (FILE*), (stream));
  INT(fgetsgent_r, INTO, (stream, entry_buffer, buffer, sizeof buffer, &found));
  fclose(stream);
}

static void cover_mounts(void) {
  struct mntent mount = {"/dev/d", "/d", "ext4", "rw", 0, 0};
  close(fresh_file("s", MOUNTS));
  POINTER(setmntent, (const char*, const char*), ("s", "r+"));
  FILE* stream = found;
  POINTER(getmntent, (FILE*), (stream));
  POINTER(getmntent_r, (FILE*, void*, char*, int), (stream, entry_buffer, buffer, sizeof buffer));
  POINTER(__getmntent_r, (FILE*, void*, char*, int), (stream, entry_buffer, buffer, sizeof buffer));
  INT(addmntent, (FILE*, const void*), (stream, &mount));
  INT(endmntent, (FILE*), (stream));
  POINTER(__setmntent, (const char*, const char*), ("not/there", "r"));
  POINTER(__setmntent, (const char*, const char*), ("s", "r"));
  INT(__endmntent, (FILE*), (found));
}

void cover_tables(void) {
  char* members[] = {"a", NULL};
  void* frames[4] = {(void*)cover_tables};
  struct passwd user = {"user", "x", 1, 1, "name", "/", "/bin/sh"};
  struct group group = {"group", "x", 1, members};
  struct spwd shadow = {"user", "*", 1, 2, 3, 4, 5, 6, 7};
  struct sgrp group_shadow = {"group", "*", members, members};
  cover_input_of_tables();
  cover_mounts();
  FILE* stream = fopen("t", "w");
  INT(putpwent, (const void*, FILE*), (&user, stream));
  INT(putgrent, (const void*, FILE*), (&group, stream));
  INT(putspent, (const void*, FILE*), (&shadow, stream));
  INT(putsgent, (const void*, FILE*), (&group_shadow, stream));
  INT(malloc_info, (int, FILE*), (0, stream));
  NOTHING(backtrace_symbols_fd, (void* const*, int, int), (frames, 1, fileno(stream)));
  NOTHING(__backtrace_symbols_fd, (void* const*, int, int), (frames, 1, fileno(stream)));
  fclose(stream);
}

/* --- Asynchronous I/O ----------------------------------------------------------------------- */

static void finish(struct aiocb* block, int is_64) {
  const struct aiocb* blocks[] = {block};
  while (aio_error(block) == EINPROGRESS) aio_suspend(blocks, 1, NULL);
  if (is_64) {
    LONG(aio_return64, (struct aiocb*), (block));
  } else {
    LONG(aio_return, (struct aiocb*), (block));
  }
}

void cover_asynchronous(void) {
  char data[64];
  int a = fresh_file("a", "0123456789");
  struct aiocb block = {.aio_fildes = a, .aio_buf = data, .aio_nbytes = 6, .aio_offset = 2};
  struct aiocb other = {
      .aio_fildes = a, .aio_buf = data, .aio_nbytes = 60, .aio_lio_opcode = LIO_READ};
  struct aiocb* blocks[] = {&other, NULL};
  const struct aiocb* done[] = {&other};
  INT(aio_read, (struct aiocb*), (&block));
  finish(&block, 0);
  INT(aio_write, (struct aiocb*), (&block));
  finish(&block, 1);
  INT(aio_read64, (struct aiocb*), (&block));
  finish(&block, 0);
  INT(aio_write64, (struct aiocb*), (&block));
  finish(&block, 0);
  INT(aio_fsync, (int, struct aiocb*), (O_SYNC, &block));
  finish(&block, 0);
  INT(aio_fsync64, (int, struct aiocb*), (-1, &block));
  INT(lio_listio, (int, struct aiocb**, int, void*), (LIO_WAIT, blocks, 2, NULL));
  finish(&other, 0);
  INT(lio_listio64, (int, struct aiocb**, int, void*), (LIO_WAIT, blocks, 2, NULL));
  INT(aio_suspend, (const struct aiocb**, int, void*), (done, 1, NULL));
  INT(aio_suspend64, (const struct aiocb**, int, void*), (done, 1, NULL));
  finish(&other, 0);
  INT(aio_cancel, (int, struct aiocb*), (a, NULL));
  INT(aio_cancel64, (int, struct aiocb*), (-1, NULL));
  close(a);
}

/* --- Mapped files --------------------------------------------------------------------------- */

#define MAP (void*, size_t, int, int, int, off_t)
#define REGION (void*, size_t)

void cover_mapped(void) {
  int a = fresh_file("a", "0123456789");
  if (ftruncate(a, 65536) != 0) return;
  POINTER(mmap, MAP, (NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0));
  char* memory = found;
  memory[5000] = 1;
  INT(msync, (void*, size_t, int), (memory, 65536, MS_SYNC));
  INT(madvise, (void*, size_t, int), (memory, 65536, MADV_SEQUENTIAL));
  INT(posix_madvise, (void*, size_t, int), (memory, 65536, POSIX_MADV_RANDOM));
  POINTER(mremap, (void*, size_t, size_t, int, ...), (memory, 65536, 32768, MREMAP_MAYMOVE));
  INT(munmap, REGION, (found, 32768));
  POINTER(mmap64, MAP, (NULL, 65536, PROT_READ, MAP_PRIVATE, a, 0));
  munmap(found, 65536);
  POINTER(mmap64, MAP, (NULL, 65536, PROT_READ, MAP_PRIVATE, -1, 0));
  POINTER(mmap, MAP, (NULL, 65536, PROT_READ, MAP_PRIVATE, a, 3));
  close(a);
}

/* --- Processes ------------------------------------------------------------------------------ */

static char* const words[] = {"not/there", NULL};

#define WORDS (const char*, char* const*)
#define WORDS_IN (const char*, char* const*, char* const*)
#define SPAWN (pid_t*, const char*, void*, void*, char* const*, char* const*)

/* The status of a child that ends by one of these functions. */
#define ENDED(name)                           \
  do {                                        \
    extern void c_##name(int) __asm__(#name); \
    pid_t child = fork();                     \
    if (child == 0) {                         \
      mark(#name);                            \
      c_##name(7);                            \
    }                                         \
    int status;                               \
    waitpid(child, &status, 0);               \
    report_number(#name, status, 0);          \
  } while (0)

/* The status of a child that is made by one of these functions and uses a file. */
#define MADE(name)                                                    \
  do {                                                                \
    extern pid_t c_##name(void) __asm__(#name) __attribute__((weak)); \
    if (!has(#name)) break;                                           \
    pid_t child = c_##name();                                         \
    if (child == 0) {                                                 \
      mark("in_" #name);                                              \
      _exit(7);                                                       \
    }                                                                 \
    int status;                                                       \
    waitpid(child, &status, 0);                                       \
    report_number(#name, status, 0);                                  \
  } while (0)

static int run_child(void* argument) {
  mark(argument);
  return 7;
}

static void cover_clone(void) {
  static char stack[65536] __attribute__((aligned(16)));
  int status;
  waitpid(clone(run_child, stack + sizeof stack, SIGCHLD, "in_clone"), &status, 0);
  report_number("clone", status, 0);
  waitpid(
      clone(run_child, stack + sizeof stack, SIGCHLD | CLONE_VM | CLONE_VFORK, "in_clone_vfork"),
      &status, 0);
  report_number("clone", status, 0);
}

static void cover_daemon(void) {
  int status, pipes[2];
  char byte = 0;
  if (pipe(pipes) != 0) return;
  pid_t child = fork();
  if (child == 0) {
    mark("daemon");
    int result = daemon(1, 1);
    mark("in_daemon");
    byte = (char)('0' + result);
    _exit(write(pipes[1], &byte, 1) == 1 ? 0 : 1);
  }
  close(pipes[1]);
  waitpid(child, &status, 0);
  report_number("daemon", (long)read(pipes[0], &byte, 1) * 1000 + byte, status);
  close(pipes[0]);
}

void cover_processes(void) {
  pid_t child;
  int file = open("a", O_RDONLY);
  INT(execve, WORDS_IN, ("not/there", words, environ));
  INT(execv, WORDS, ("not/there", words));
  INT(execvp, WORDS, ("not-there", words));
  INT(execvpe, WORDS_IN, ("", words, environ));
  INT(fexecve, (int, char* const*, char* const*), (file, words, environ));
  INT(execveat, (int, const char*, char* const*, char* const*, int),
      (file, "x", words, environ, 0));
  INT(execl, (const char*, const char*, ...), ("not/there", "x", "y", (char*)NULL));
  INT(execlp, (const char*, const char*, ...), ("not-there", "x", (char*)NULL));
  INT(execle, (const char*, const char*, ...), ("not/there", "x", "y", (char*)NULL, environ));
  INT(posix_spawn, SPAWN, (&child, "not/there", NULL, NULL, words, environ));
  INT(posix_spawnp, SPAWN, (&child, "not-there", NULL, NULL, words, environ));
  ENDED(_exit);
  ENDED(_Exit);
  ENDED(quick_exit);
  MADE(fork);
  MADE(_Fork);
  MADE(vfork);
  MADE(__vfork);
  cover_clone();
  cover_daemon();
  INT(fcloseall, (void), ());
  close(file);
}
