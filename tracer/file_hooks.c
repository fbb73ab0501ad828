/* Calls on an open file that move no data: positions, lengths, synchronisation, attributes. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hooks.h"

/* --- Positions and lengths ---------------------------------------------------------------- */

#define SEEK(name)                                                                              \
  SESAME_HOOK(off_t, name, (int file, off_t offset, int from)) {                                \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, offset, from);               \
    uint64_t begin = sesame_enter();                                                            \
    off_t position = SESAME_REAL(name)(file, offset, from);                                     \
    SESAME_RECORD(position, begin, .call = SESAME_CALL_lseek, .file = file, .offset = position, \
                  .error = sesame_error(position < 0));                                         \
    return position;                                                                            \
  }
SEEK(lseek)
SEEK(lseek64)
SEEK(__lseek)
SEEK(llseek)

#define TRUNCATE(name)                                                                    \
  SESAME_HOOK(int, name, (int file, off_t length)) {                                      \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, length);               \
    uint64_t begin = sesame_enter();                                                      \
    int result = SESAME_REAL(name)(file, length);                                         \
    SESAME_RECORD(position, begin, .call = SESAME_CALL_ftruncate, .file = file,           \
                  .offset = result < 0 ? -1 : length, .error = sesame_error(result < 0)); \
    return result;                                                                        \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

/* Calls on a part of a file. Some fail with -1 and errno, some return the error. */
#define PART(type, name, call_, parameters, arguments, begin_of_part, length, error_)      \
  SESAME_HOOK(type, name, parameters) {                                                    \
    if (!sesame_watches_file(file)) return SESAME_REAL(name) arguments;                    \
    uint64_t begin = sesame_enter();                                                       \
    type result = SESAME_REAL(name) arguments;                                             \
    uint16_t error = error_;                                                               \
    SESAME_RECORD(position, begin, .call = SESAME_CALL_##call_, .file = file,              \
                  .offset = error != 0 ? -1 : (begin_of_part), .size = (uint64_t)(length), \
                  .error = error);                                                         \
    return result;                                                                         \
  }
#define ERRNO sesame_error(result < 0)
#define RESULT (uint16_t) result
PART(int, fallocate, fallocate, (int file, int mode, off_t offset, off_t length),
     (file, mode, offset, length), offset, length, ERRNO)
PART(int, fallocate64, fallocate, (int file, int mode, off_t offset, off_t length),
     (file, mode, offset, length), offset, length, ERRNO)
PART(int, posix_fallocate, posix_fallocate, (int file, off_t offset, off_t length),
     (file, offset, length), offset, length, RESULT)
PART(int, posix_fallocate64, posix_fallocate, (int file, off_t offset, off_t length),
     (file, offset, length), offset, length, RESULT)
PART(int, sync_file_range, sync_file_range, (int file, off_t offset, off_t length, unsigned flags),
     (file, offset, length, flags), offset, length, ERRNO)
PART(ssize_t, readahead, readahead, (int file, off_t offset, size_t length), (file, offset, length),
     offset, length, ERRNO)
PART(int, lockf, lockf, (int file, int command, off_t length), (file, command, length), 0, length,
     ERRNO)
PART(int, lockf64, lockf, (int file, int command, off_t length), (file, command, length), 0, length,
     ERRNO)

#define ADVISE(name)                                                                        \
  SESAME_HOOK(int, name, (int file, off_t offset, off_t length, int advice)) {              \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, offset, length, advice); \
    uint64_t begin = sesame_enter();                                                        \
    int error = SESAME_REAL(name)(file, offset, length, advice);                            \
    SESAME_RECORD(advice, begin, .call = SESAME_CALL_posix_fadvise, .file = file,           \
                  .offset = error != 0 ? -1 : offset, .size = (uint64_t)length,             \
                  .advice = (uint32_t)advice, .error = (uint16_t)error);                    \
    return error;                                                                           \
  }
ADVISE(posix_fadvise)
ADVISE(posix_fadvise64)

/* --- All that needs no more than the descriptor ------------------------------------------- */

#define HANDLE(type, name, call_, parameters, arguments)                \
  SESAME_HOOK(type, name, parameters) {                                 \
    if (!sesame_watches_file(file)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_enter();                                    \
    type result = SESAME_REAL(name) arguments;                          \
    SESAME_RECORD_HANDLE(begin, call_, file, result < 0);               \
    return result;                                                      \
  }
HANDLE(int, fsync, fsync, (int file), (file))
HANDLE(int, fdatasync, fdatasync, (int file), (file))
HANDLE(int, syncfs, syncfs, (int file), (file))
HANDLE(int, fchdir, fchdir, (int file), (file))
HANDLE(int, flock, flock, (int file, int operation), (file, operation))
HANDLE(int, fchmod, fchmod, (int file, mode_t mode), (file, mode))
HANDLE(int, fchown, fchown, (int file, uid_t user, gid_t group), (file, user, group))
HANDLE(int, futimens, futimens, (int file, const struct timespec* times), (file, times))
HANDLE(int, futimes, futimes, (int file, const struct timeval* times), (file, times))
HANDLE(int, fstat, fstat, (int file, void* status), (file, status))
HANDLE(int, fstat64, fstat, (int file, void* status), (file, status))
HANDLE(int, __fxstat, fstat, (int version, int file, void* status), (version, file, status))
HANDLE(int, __fxstat64, fstat, (int version, int file, void* status), (version, file, status))
HANDLE(int, fstatfs, fstatfs, (int file, void* status), (file, status))
HANDLE(int, fstatfs64, fstatfs, (int file, void* status), (file, status))
HANDLE(int, fstatvfs, fstatvfs, (int file, void* status), (file, status))
HANDLE(int, fstatvfs64, fstatvfs, (int file, void* status), (file, status))
HANDLE(ssize_t, fgetxattr, fgetxattr, (int file, const char* name, void* value, size_t size),
       (file, name, value, size))
HANDLE(int, fsetxattr, fsetxattr,
       (int file, const char* name, const void* value, size_t size, int flags),
       (file, name, value, size, flags))
HANDLE(ssize_t, flistxattr, flistxattr, (int file, char* list, size_t size), (file, list, size))
HANDLE(int, fremovexattr, fremovexattr, (int file, const char* name), (file, name))
HANDLE(ssize_t, getdents64, getdents64, (int file, void* data, size_t size), (file, data, size))
HANDLE(ssize_t, getdirentries, getdirentries, (int file, char* data, size_t size, off_t* position),
       (file, data, size, position))
HANDLE(ssize_t, getdirentries64, getdirentries,
       (int file, char* data, size_t size, off_t* position), (file, data, size, position))

SESAME_HOOK(void, sync, (void)) {
  if (!sesame_watches(SESAME_IO)) {
    SESAME_REAL(sync)();
    return;
  }
  uint64_t begin = sesame_enter();
  SESAME_REAL(sync)();
  SESAME_RECORD(plain, begin, .call = SESAME_CALL_sync);
}
