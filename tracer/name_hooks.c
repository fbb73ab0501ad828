/* Calls that name files: attributes, links, directories of names. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>
#include <utime.h>

#include "hooks.h"

/* --- One name ----------------------------------------------------------------------------- */

#define NAME_SIZE(type, name, call, parameters, arguments, directory, path, size)                \
  SESAME_HOOK(type, name, parameters) {                                                          \
    if (!sesame_watches_path(directory)) return SESAME_REAL(name) arguments;                     \
    uint64_t begin = sesame_enter();                                                             \
    type result = SESAME_REAL(name) arguments;                                                   \
    sesame_record_path(begin, SESAME_CALL_##call, (long)result == FAILED(type), directory, path, \
                       size);                                                                    \
    return result;                                                                               \
  }
/* Pointers fail with null, numbers with -1. */
#define FAILED(type) _Generic((type)0, char* : 0L, default : -1L)
#define AT(type, name, call, parameters, arguments) \
  NAME_SIZE(type, name, call, parameters, arguments, directory, path, 0)
#define NAME(type, name, call, parameters, arguments) \
  NAME_SIZE(type, name, call, parameters, arguments, AT_FDCWD, path, 0)

NAME(int, stat, stat, (const char* path, void* status), (path, status))
NAME(int, stat64, stat, (const char* path, void* status), (path, status))
NAME(int, lstat, lstat, (const char* path, void* status), (path, status))
NAME(int, lstat64, lstat, (const char* path, void* status), (path, status))
NAME(int, __xstat, stat, (int version, const char* path, void* status), (version, path, status))
NAME(int, __xstat64, stat, (int version, const char* path, void* status), (version, path, status))
NAME(int, __lxstat, lstat, (int version, const char* path, void* status), (version, path, status))
NAME(int, __lxstat64, lstat, (int version, const char* path, void* status), (version, path, status))
AT(int, fstatat, fstatat, (int directory, const char* path, void* status, int flags),
   (directory, path, status, flags))
AT(int, fstatat64, fstatat, (int directory, const char* path, void* status, int flags),
   (directory, path, status, flags))
AT(int, __fxstatat, fstatat,
   (int version, int directory, const char* path, void* status, int flags),
   (version, directory, path, status, flags))
AT(int, __fxstatat64, fstatat,
   (int version, int directory, const char* path, void* status, int flags),
   (version, directory, path, status, flags))
AT(int, statx, statx, (int directory, const char* path, int flags, unsigned mask, void* status),
   (directory, path, flags, mask, status))
NAME(int, statfs, statfs, (const char* path, void* status), (path, status))
NAME(int, __statfs, statfs, (const char* path, void* status), (path, status))
NAME(int, statfs64, statfs, (const char* path, void* status), (path, status))
NAME(int, statvfs, statvfs, (const char* path, void* status), (path, status))
NAME(int, statvfs64, statvfs, (const char* path, void* status), (path, status))
NAME(int, access, access, (const char* path, int mode), (path, mode))
NAME(int, eaccess, eaccess, (const char* path, int mode), (path, mode))
NAME(int, euidaccess, eaccess, (const char* path, int mode), (path, mode))
AT(int, faccessat, faccessat, (int directory, const char* path, int mode, int flags),
   (directory, path, mode, flags))
NAME(int, chmod, chmod, (const char* path, mode_t mode), (path, mode))
NAME(int, lchmod, lchmod, (const char* path, mode_t mode), (path, mode))
AT(int, fchmodat, fchmodat, (int directory, const char* path, mode_t mode, int flags),
   (directory, path, mode, flags))
NAME(int, chown, chown, (const char* path, uid_t user, gid_t group), (path, user, group))
NAME(int, lchown, lchown, (const char* path, uid_t user, gid_t group), (path, user, group))
AT(int, fchownat, fchownat, (int directory, const char* path, uid_t user, gid_t group, int flags),
   (directory, path, user, group, flags))
NAME(int, utime, utime, (const char* path, const struct utimbuf* times), (path, times))
NAME(int, utimes, utimes, (const char* path, const struct timeval* times), (path, times))
NAME(int, lutimes, lutimes, (const char* path, const struct timeval* times), (path, times))
AT(int, futimesat, futimesat, (int directory, const char* path, const struct timeval* times),
   (directory, path, times))
AT(int, utimensat, utimensat,
   (int directory, const char* path, const struct timespec* times, int flags),
   (directory, path, times, flags))
NAME(ssize_t, getxattr, getxattr, (const char* path, const char* name, void* value, size_t size),
     (path, name, value, size))
NAME(ssize_t, lgetxattr, lgetxattr, (const char* path, const char* name, void* value, size_t size),
     (path, name, value, size))
NAME(int, setxattr, setxattr,
     (const char* path, const char* name, const void* value, size_t size, int flags),
     (path, name, value, size, flags))
NAME(int, lsetxattr, lsetxattr,
     (const char* path, const char* name, const void* value, size_t size, int flags),
     (path, name, value, size, flags))
NAME(ssize_t, listxattr, listxattr, (const char* path, char* list, size_t size), (path, list, size))
NAME(ssize_t, llistxattr, llistxattr, (const char* path, char* list, size_t size),
     (path, list, size))
NAME(int, removexattr, removexattr, (const char* path, const char* name), (path, name))
NAME(int, lremovexattr, lremovexattr, (const char* path, const char* name), (path, name))
NAME(int, unlink, unlink, (const char* path), (path))
AT(int, unlinkat, unlinkat, (int directory, const char* path, int flags), (directory, path, flags))
NAME(int, remove, remove, (const char* path), (path))
NAME(int, rmdir, rmdir, (const char* path), (path))
NAME(int, mkdir, mkdir, (const char* path, mode_t mode), (path, mode))
AT(int, mkdirat, mkdirat, (int directory, const char* path, mode_t mode), (directory, path, mode))
NAME(int, mkfifo, mkfifo, (const char* path, mode_t mode), (path, mode))
AT(int, mkfifoat, mkfifoat, (int directory, const char* path, mode_t mode), (directory, path, mode))
NAME(int, mknod, mknod, (const char* path, mode_t mode, dev_t device), (path, mode, device))
NAME(int, __xmknod, mknod, (int version, const char* path, mode_t mode, dev_t* device),
     (version, path, mode, device))
AT(int, mknodat, mknodat, (int directory, const char* path, mode_t mode, dev_t device),
   (directory, path, mode, device))
AT(int, __xmknodat, mknodat,
   (int version, int directory, const char* path, mode_t mode, dev_t* device),
   (version, directory, path, mode, device))
NAME(char*, mkdtemp, mkdtemp, (char* path), (path))
NAME(char*, mktemp, mktemp, (char* path), (path))
NAME(ssize_t, readlink, readlink, (const char* path, char* target, size_t size),
     (path, target, size))
NAME(ssize_t, __readlink_chk, readlink,
     (const char* path, char* target, size_t size, size_t capacity), (path, target, size, capacity))
AT(ssize_t, readlinkat, readlinkat, (int directory, const char* path, char* target, size_t size),
   (directory, path, target, size))
AT(ssize_t, __readlinkat_chk, readlinkat,
   (int directory, const char* path, char* target, size_t size, size_t capacity),
   (directory, path, target, size, capacity))
NAME(char*, realpath, realpath, (const char* path, char* target), (path, target))
NAME(char*, __realpath_chk, realpath, (const char* path, char* target, size_t capacity),
     (path, target, capacity))
NAME(char*, canonicalize_file_name, realpath, (const char* path), (path))
NAME(int, chdir, chdir, (const char* path), (path))
NAME(int, chroot, chroot, (const char* path), (path))
AT(int, name_to_handle_at, name_to_handle_at,
   (int directory, const char* path, void* handle, int* mount, int flags),
   (directory, path, handle, mount, flags))
NAME_SIZE(int, truncate, truncate, (const char* path, off_t length), (path, length), AT_FDCWD, path,
          length)
NAME_SIZE(int, truncate64, truncate, (const char* path, off_t length), (path, length), AT_FDCWD,
          path, length)

/* --- Two names ---------------------------------------------------------------------------- */

#define NAMES(name, parameters, arguments, directory_, other_directory_)                      \
  SESAME_HOOK(int, name, parameters) {                                                        \
    if (!sesame_watches_path(directory_) || !sesame_watches_path(other_directory_))           \
      return SESAME_REAL(name) arguments;                                                     \
    uint64_t begin = sesame_enter();                                                          \
    int result = SESAME_REAL(name) arguments;                                                 \
    uint16_t error = sesame_error(result < 0);                                                \
    SESAME_RECORD(two_paths, begin, .call = SESAME_CALL_##name, .directory = directory_,      \
                  .other_directory = other_directory_, .error = error,                        \
                  .path = sesame_path(path, error), .other_path = sesame_path(other, error)); \
    return result;                                                                            \
  }
NAMES(rename, (const char* path, const char* other), (path, other), AT_FDCWD, AT_FDCWD)
NAMES(renameat, (int from, const char* path, int to, const char* other), (from, path, to, other),
      from, to)
NAMES(renameat2, (int from, const char* path, int to, const char* other, unsigned flags),
      (from, path, to, other, flags), from, to)
NAMES(link, (const char* path, const char* other), (path, other), AT_FDCWD, AT_FDCWD)
NAMES(linkat, (int from, const char* path, int to, const char* other, int flags),
      (from, path, to, other, flags), from, to)
NAMES(symlink, (const char* path, const char* other), (path, other), AT_FDCWD, AT_FDCWD)
NAMES(symlinkat, (const char* path, int to, const char* other), (path, to, other), AT_FDCWD, to)
