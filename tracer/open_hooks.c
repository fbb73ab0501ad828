/* Descriptors: opened, duplicated, closed. */
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

#include "hooks.h"
#include "rings.h"

#define SHARED_MEMORY "/dev/shm/"

/* --- Opened ------------------------------------------------------------------------------- */

/* The mode is an argument only where a file may be created. */
#define MODE_ARGUMENT(flags)                                            \
  va_list arguments;                                                    \
  va_start(arguments, flags);                                           \
  int has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; \
  mode_t mode = has_mode ? va_arg(arguments, mode_t) : 0;               \
  va_end(arguments);

#define OPEN(name)                                                               \
  SESAME_HOOK(int, name, (const char* path, int flags, ...)) {                   \
    MODE_ARGUMENT(flags)                                                         \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(path, flags, mode); \
    uint64_t begin = sesame_enter();                                             \
    int file = SESAME_REAL(name)(path, flags, mode);                             \
    sesame_record_open(begin, SESAME_CALL_open, file, AT_FDCWD, path, flags);    \
    return file;                                                                 \
  }
OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)

#define OPEN_AT(name)                                                                            \
  SESAME_HOOK(int, name, (int directory, const char* path, int flags, ...)) {                    \
    MODE_ARGUMENT(flags)                                                                         \
    if (!sesame_watches_path(directory)) return SESAME_REAL(name)(directory, path, flags, mode); \
    uint64_t begin = sesame_enter();                                                             \
    int file = SESAME_REAL(name)(directory, path, flags, mode);                                  \
    sesame_record_open(begin, SESAME_CALL_openat, file, directory, path, flags);                 \
    return file;                                                                                 \
  }
OPEN_AT(openat)
OPEN_AT(openat64)

/* Calls that open a file with fixed arguments; some of them have no path. */
#define OPEN_FIXED(name, call, parameters, arguments, directory, path, flags)    \
  SESAME_HOOK(int, name, parameters) {                                           \
    if (!sesame_watches_path(directory)) return SESAME_REAL(name) arguments;     \
    uint64_t begin = sesame_enter();                                             \
    int file = SESAME_REAL(name) arguments;                                      \
    sesame_record_open(begin, SESAME_CALL_##call, file, directory, path, flags); \
    return file;                                                                 \
  }
#define NEW (O_RDWR | O_CREAT | O_EXCL)
OPEN_FIXED(__open_2, open, (const char* path, int flags), (path, flags), AT_FDCWD, path, flags)
OPEN_FIXED(__open64_2, open, (const char* path, int flags), (path, flags), AT_FDCWD, path, flags)
OPEN_FIXED(__openat_2, openat, (int directory, const char* path, int flags),
           (directory, path, flags), directory, path, flags)
OPEN_FIXED(__openat64_2, openat, (int directory, const char* path, int flags),
           (directory, path, flags), directory, path, flags)
OPEN_FIXED(creat, creat, (const char* path, mode_t mode), (path, mode), AT_FDCWD, path,
           O_WRONLY | O_CREAT | O_TRUNC)
OPEN_FIXED(creat64, creat, (const char* path, mode_t mode), (path, mode), AT_FDCWD, path,
           O_WRONLY | O_CREAT | O_TRUNC)
OPEN_FIXED(mkstemp, mkstemp, (char* path), (path), AT_FDCWD, path, NEW)
OPEN_FIXED(mkstemp64, mkstemp, (char* path), (path), AT_FDCWD, path, NEW)
OPEN_FIXED(mkostemp, mkostemp, (char* path, int flags), (path, flags), AT_FDCWD, path, flags | NEW)
OPEN_FIXED(mkostemp64, mkostemp, (char* path, int flags), (path, flags), AT_FDCWD, path,
           flags | NEW)
OPEN_FIXED(mkstemps, mkstemps, (char* path, int suffix), (path, suffix), AT_FDCWD, path, NEW)
OPEN_FIXED(mkstemps64, mkstemps, (char* path, int suffix), (path, suffix), AT_FDCWD, path, NEW)
OPEN_FIXED(mkostemps, mkostemps, (char* path, int suffix, int flags), (path, suffix, flags),
           AT_FDCWD, path, flags | NEW)
OPEN_FIXED(mkostemps64, mkostemps, (char* path, int suffix, int flags), (path, suffix, flags),
           AT_FDCWD, path, flags | NEW)
OPEN_FIXED(memfd_create, memfd_create, (const char* name, unsigned flags), (name, flags), AT_FDCWD,
           name, O_RDWR)
OPEN_FIXED(open_by_handle_at, open_by_handle_at,
           (int directory, struct file_handle* handle, int flags), (directory, handle, flags),
           directory, "", flags)
OPEN_FIXED(posix_openpt, posix_openpt, (int flags), (flags), AT_FDCWD, "/dev/ptmx", flags)
OPEN_FIXED(getpt, getpt, (void), (), AT_FDCWD, "/dev/ptmx", O_RDWR)

/* The names of shared memory are those of files in one directory. */
typedef struct {
  char text[sizeof SHARED_MEMORY + NAME_MAX];
} SharedMemoryPath;

static const char* shared_memory_path(const char* name, SharedMemoryPath* path) {
  if (name == NULL) return "";
  while (*name == '/') ++name;
  snprintf(path->text, sizeof path->text, SHARED_MEMORY "%s", name);
  return path->text;
}

SESAME_HOOK(int, shm_open, (const char* name, int flags, mode_t mode)) {
  SharedMemoryPath path;
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(shm_open)(name, flags, mode);
  uint64_t begin = sesame_enter();
  int file = SESAME_REAL(shm_open)(name, flags, mode);
  sesame_record_open(begin, SESAME_CALL_shm_open, file, AT_FDCWD, shared_memory_path(name, &path),
                     flags);
  return file;
}

SESAME_HOOK(int, shm_unlink, (const char* name)) {
  SharedMemoryPath path;
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(shm_unlink)(name);
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(shm_unlink)(name);
  sesame_record_path(begin, SESAME_CALL_shm_unlink, result < 0, AT_FDCWD,
                     shared_memory_path(name, &path), 0);
  return result;
}

/* --- Duplicated --------------------------------------------------------------------------- */

static void record_duplicate(uint64_t begin, int call, int file, int other) {
  SESAME_RECORD(duplicate, begin, .call = (uint16_t)call, .file = file, .other_file = other,
                .error = sesame_error(other < 0));
  if (other >= 0) sesame_know(other);
}

#define DUPLICATE(name, call, parameters, arguments, over)   \
  SESAME_HOOK(int, name, parameters) {                       \
    if (!sesame_watches_file(file)) {                        \
      sesame_forget(over);                                   \
      return SESAME_REAL(name) arguments;                    \
    }                                                        \
    uint64_t begin = sesame_enter();                         \
    int copy = SESAME_REAL(name) arguments;                  \
    record_duplicate(begin, SESAME_CALL_##call, file, copy); \
    return copy;                                             \
  }
DUPLICATE(dup, dup, (int file), (file), -1)
DUPLICATE(dup2, dup2, (int file, int other), (file, other), other)
DUPLICATE(__dup2, dup2, (int file, int other), (file, other), other)
DUPLICATE(dup3, dup3, (int file, int other, int flags), (file, other, flags), other)

/* The third argument is an int or a pointer; the C library, too, passes it on as a pointer. */
#define CONTROL(name)                                                                  \
  SESAME_HOOK(int, name, (int file, int command, ...)) {                               \
    va_list arguments;                                                                 \
    va_start(arguments, command);                                                      \
    void* argument = va_arg(arguments, void*);                                         \
    va_end(arguments);                                                                 \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, command, argument); \
    uint64_t begin = sesame_enter();                                                   \
    int result = SESAME_REAL(name)(file, command, argument);                           \
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {                            \
      record_duplicate(begin, SESAME_CALL_fcntl, file, result);                        \
    } else {                                                                           \
      SESAME_RECORD_HANDLE(begin, fcntl, file, result < 0);                            \
    }                                                                                  \
    return result;                                                                     \
  }
CONTROL(fcntl)
CONTROL(fcntl64)
CONTROL(__fcntl)

/* --- Closed ------------------------------------------------------------------------------- */

/* The descriptor is forgotten first: once it is closed another thread may get its number. */
#define CLOSE(name)                                                       \
  SESAME_HOOK(int, name, (int file)) {                                    \
    sesame_forget(file);                                                  \
    if (sesame_rings_any() && !sesame_in_vfork) sesame_rings_close(file); \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(file);       \
    uint64_t begin = sesame_enter();                                      \
    int result = SESAME_REAL(name)(file);                                 \
    SESAME_RECORD_HANDLE(begin, close, file, result < 0);                 \
    return result;                                                        \
  }
CLOSE(close)
CLOSE(__close)

/* A record for each closed descriptor that was known; one without a descriptor if there was none.
 */
static void record_range(uint64_t begin, int call, unsigned first, unsigned last) {
  unsigned end = (unsigned)(sesame_highest_known() + 1);
  int closed = 0;
  for (unsigned file = first; file <= last && file < end; ++file) {
    if (!sesame_is_known((int)file)) continue;
    sesame_forget((int)file);
    SESAME_RECORD(handle, begin, .call = (uint16_t)call, .file = (int)file);
    closed = 1;
  }
  if (!closed) SESAME_RECORD(plain, begin, .call = (uint16_t)call);
}

static void forget_range(unsigned first, unsigned last) {
  unsigned end = (unsigned)(sesame_highest_known() + 1);
  for (unsigned file = first; file <= last && file < end; ++file) {
    sesame_forget((int)file);
  }
}

SESAME_HOOK(int, close_range, (unsigned first, unsigned last, int flags)) {
  int is_watched = sesame_watches(SESAME_IO);
  uint64_t begin = is_watched ? sesame_enter() : 0;
  int result = SESAME_REAL(close_range)(first, last, flags);
  if (result < 0 || (flags & CLOSE_RANGE_CLOEXEC)) first = INT_MAX; /* nothing was closed */
  if (!is_watched) {
    forget_range(first, last);
  } else if (result < 0) {
    SESAME_RECORD(plain, begin, .call = SESAME_CALL_close_range, .error = sesame_error(1));
  } else {
    record_range(begin, SESAME_CALL_close_range, first, last);
  }
  return result;
}

SESAME_HOOK(void, closefrom, (int first)) {
  int is_watched = sesame_watches(SESAME_IO);
  uint64_t begin = is_watched ? sesame_enter() : 0;
  SESAME_REAL(closefrom)(first);
  if (first < 0) first = 0;
  if (is_watched) {
    record_range(begin, SESAME_CALL_closefrom, (unsigned)first, INT_MAX);
  } else {
    forget_range((unsigned)first, INT_MAX);
  }
}
