/* Descriptors and what is done with them. */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "coverage.h"

void cover_data(void) {
  char data[64];
  struct iovec parts[2] = {{data, 5}, {data + 5, 7}};
  int a = fresh_file("a", "0123456789012345678901234567890123456789");
  int b = fresh_file("b", "");
  int pipes[2], events = eventfd(0, 0);
  off_t from = 3, to = 5;
  uint64_t value;
  if (pipe(pipes) != 0) return;
#define READ (int, void*, size_t)
#define READ_AT (int, void*, size_t, off_t)
#define VECTOR (int, const struct iovec*, int)
#define VECTOR_AT (int, const struct iovec*, int, off_t)
#define VECTOR_FLAGS (int, const struct iovec*, int, off_t, int)
  LONG(read, READ, (a, data, 10));
  LONG(__read, READ, (a, data, 100));
  LONG(__read_chk, (int, void*, size_t, size_t), (a, data, 10, sizeof data));
  LONG(pread, READ_AT, (a, data, 10, 5));
  LONG(pread64, READ_AT, (a, data, 10, 5000000000));
  LONG(__pread64, READ_AT, (a, data, 10, -1));
  LONG(__pread_chk, (int, void*, size_t, off_t, size_t), (a, data, 10, 2, sizeof data));
  LONG(__pread64_chk, (int, void*, size_t, off_t, size_t), (a, data, 10, 2, sizeof data));
  LONG(syscall, (long, long, void*, size_t, off_t), (SYS_pread64, a, data, 7, 1));
  LONG(write, READ, (b, "abcdefgh", 8));
  LONG(__write, READ, (-1, "abcdefgh", 8));
  LONG(pwrite, READ_AT, (b, "abcdefgh", 8, 100));
  LONG(pwrite64, READ_AT, (b, "abcdefgh", 8, 100));
  LONG(__pwrite64, READ_AT, (b, NULL, 8, 100));
  lseek(a, 0, SEEK_SET);
  LONG(readv, VECTOR, (a, parts, 2));
  LONG(writev, VECTOR, (b, parts, 2));
  LONG(preadv, VECTOR_AT, (a, parts, 2, 3));
  LONG(preadv64, VECTOR_AT, (a, parts, -1, 3));
  LONG(pwritev, VECTOR_AT, (b, parts, 2, 3));
  LONG(pwritev64, VECTOR_AT, (b, (void*)8, 2, 3));
  LONG(preadv2, VECTOR_FLAGS, (a, parts, 2, 3, 0));
  LONG(preadv64v2, VECTOR_FLAGS, (a, parts, 2, -1, 0));
  LONG(pwritev2, VECTOR_FLAGS, (b, parts, 2, 3, 0));
  LONG(pwritev64v2, VECTOR_FLAGS, (b, parts, 2, -1, 0));
  LONG(sendfile, (int, int, off_t*, size_t), (b, a, &from, 9));
  LONG(sendfile64, (int, int, off_t*, size_t), (b, a, (off_t*)8, 9));
  LONG(copy_file_range, (int, off_t*, int, off_t*, size_t, unsigned), (a, &from, b, &to, 9, 0));
  LONG(splice, (int, off_t*, int, off_t*, size_t, unsigned), (a, &from, pipes[1], NULL, 9, 0));
  LONG(vmsplice, (int, const struct iovec*, size_t, unsigned), (pipes[1], parts, 2, 0));
  LONG(tee, (int, int, size_t, unsigned), (pipes[0], pipes[0], 9, 0));
  INT(eventfd_write, (int, uint64_t), (events, 3));
  INT(eventfd_read, (int, uint64_t*), (events, &value));
  INT(ioctl, (int, unsigned long, ...), (b, FICLONE, a));
  for (int i = 0; i < 2; ++i) close(pipes[i]);
  close(events);
  close(a);
  close(b);
}

void cover_files(void) {
  char data[4096];
  struct timespec times[2] = {{1, 2}, {3, 4}};
  struct timeval old_times[2] = {{1, 2}, {3, 4}};
  off_t position = 0;
  int a = fresh_file("a", "0123456789");
  int directory = open(".", O_RDONLY | O_DIRECTORY);
#define SEEK (int, off_t, int)
#define LENGTH (int, off_t)
#define PART (int, off_t, off_t)
  LONG(lseek, SEEK, (a, 3, SEEK_SET));
  LONG(lseek64, SEEK, (a, -30, SEEK_CUR));
  LONG(__lseek, SEEK, (a, 0, SEEK_END));
  LONG(llseek, SEEK, (-1, 0, SEEK_END));
  INT(ftruncate, LENGTH, (a, 100));
  INT(ftruncate64, LENGTH, (a, -1));
  INT(fallocate, (int, int, off_t, off_t), (a, 0, 0, 4096));
  INT(fallocate64, (int, int, off_t, off_t), (a, 0, 0, -1));
  INT(posix_fallocate, PART, (a, 0, 8192));
  INT(posix_fallocate64, PART, (-1, 0, 8192));
  INT(posix_fadvise, (int, off_t, off_t, int), (a, 0, 0, POSIX_FADV_SEQUENTIAL));
  INT(posix_fadvise64, (int, off_t, off_t, int), (a, 0, 0, 99));
  INT(sync_file_range, (int, off_t, off_t, unsigned), (a, 0, 0, SYNC_FILE_RANGE_WRITE));
  LONG(readahead, (int, off_t, size_t), (a, 0, 100));
  INT(lockf, (int, int, off_t), (a, F_LOCK, 10));
  INT(lockf64, (int, int, off_t), (a, F_ULOCK, 10));
  INT(fsync, (int), (a));
  INT(fdatasync, (int), (-1));
  INT(syncfs, (int), (a));
  NOTHING(sync, (void), ());
  INT(fchdir, (int), (directory));
  INT(flock, (int, int), (a, 2));
  INT(fchmod, (int, mode_t), (a, 0640));
  INT(fchown, (int, uid_t, gid_t), (a, -1, -1));
  INT(futimens, (int, void*), (a, times));
  INT(futimes, (int, void*), (a, old_times));
  INT(fstat, (int, void*), (a, data));
  INT(fstat64, (int, void*), (-1, data));
  INT(__fxstat, (int, int, void*), (1, a, data));
  INT(__fxstat64, (int, int, void*), (1, a, data));
  INT(fstatfs, (int, void*), (a, data));
  INT(fstatfs64, (int, void*), (a, data));
  INT(fstatvfs, (int, void*), (a, data));
  INT(fstatvfs64, (int, void*), (a, data));
  INT(fsetxattr, (int, const char*, const void*, size_t, int), (a, "user.x", "yz", 2, 0));
  LONG(fgetxattr, (int, const char*, void*, size_t), (a, "user.x", data, 100));
  LONG(flistxattr, (int, char*, size_t), (a, data, 100));
  INT(fremovexattr, (int, const char*), (a, "user.x"));
  LONG(getdents64, (int, void*, size_t), (directory, data, sizeof data));
  LONG(getdirentries, (int, char*, size_t, off_t*), (directory, data, sizeof data, &position));
  LONG(getdirentries64, (int, char*, size_t, off_t*), (directory, data, sizeof data, &position));
  close(a);
  close(directory);
}

static int closed(int file) {
  if (file >= 0) close(file);
  return file;
}

/* What the function opened is closed again. */
#define OPENED(name, parameters, arguments) \
  do {                                      \
    INT(name, parameters, arguments);       \
    closed((int)last);                      \
  } while (0)

static void cover_opens(void) {
  char names[8][32];
  int directory = open(".", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 8; ++i) strcpy(names[i], i < 4 ? "made-XXXXXX" : "made-XXXXXX.x");
  OPENED(open, (const char*, int, ...), ("new", O_RDWR | O_CREAT, 0600));
  OPENED(open64, (const char*, int, ...), ("not/there", O_RDONLY));
  OPENED(__open, (const char*, int, ...), ((const char*)8, O_RDONLY));
  OPENED(__open64, (const char*, int, ...), (".", O_RDWR | O_TMPFILE, 0600));
  OPENED(__open_2, (const char*, int), ("a", O_RDONLY));
  OPENED(__open64_2, (const char*, int), ("a", O_RDONLY));
  OPENED(openat, (int, const char*, int, ...), (directory, "new", O_RDWR | O_CREAT | O_EXCL, 0600));
  OPENED(openat64, (int, const char*, int, ...), (directory, "a", O_RDONLY));
  OPENED(__openat_2, (int, const char*, int), (directory, "a", O_RDONLY));
  OPENED(__openat64_2, (int, const char*, int), (-1, "a", O_RDONLY));
  OPENED(creat, (const char*, mode_t), ("new", 0600));
  OPENED(creat64, (const char*, mode_t), ("", 0600));
  OPENED(mkstemp, (char*), (names[0]));
  OPENED(mkstemp64, (char*), (names[1]));
  OPENED(mkostemp, (char*, int), (names[2], O_CLOEXEC));
  OPENED(mkostemp64, (char*, int), (names[3], O_CLOEXEC));
  OPENED(mkstemps, (char*, int), (names[4], 2));
  OPENED(mkstemps64, (char*, int), (names[5], 2));
  OPENED(mkostemps, (char*, int, int), (names[6], 2, O_CLOEXEC));
  OPENED(mkostemps64, (char*, int, int), (names[7], 2, O_CLOEXEC));
  OPENED(shm_open, (const char*, int, mode_t), ("/sesame-coverage", O_RDWR | O_CREAT, 0600));
  OPENED(memfd_create, (const char*, unsigned), ("name", 0));
  OPENED(posix_openpt, (int), (O_RDWR | O_NOCTTY));
  OPENED(getpt, (void), ());
  for (int i = 0; i < 8; ++i) unlink(names[i]);
  close(directory);
}

static void cover_handles(void) {
  struct {
    struct file_handle handle;
    char buffer[128];
  } handle = {.handle = {.handle_bytes = 128}};
  int mount;
  int directory = open(".", O_RDONLY | O_DIRECTORY);
  INT(name_to_handle_at, (int, const char*, void*, int*, int),
      (directory, "a", &handle, &mount, 0));
  OPENED(open_by_handle_at, (int, void*, int), (directory, &handle, O_RDONLY));
  close(directory);
}

void cover_descriptors(void) {
  int a = fresh_file("a", "0123456789");
  int b = fresh_file("b", "");
  cover_opens();
  cover_handles();
  OPENED(dup, (int), (a));
  INT(dup2, (int, int), (a, 40));
  INT(__dup2, (int, int), (a, b));
  INT(dup3, (int, int, int), (a, 41, O_CLOEXEC));
  OPENED(fcntl, (int, int, ...), (a, F_DUPFD, 50));
  INT(fcntl64, (int, int, ...), (a, F_GETFL));
  INT(__fcntl, (int, int, ...), (-1, F_GETFL));
  INT(close, (int), (40));
  INT(__close, (int), (40));
  dup2(a, 900);
  INT(close_range, (unsigned, unsigned, int), (890, 910, 0));
  INT(close_range, (unsigned, unsigned, int), (0x80000000u, ~0u, 0));
  INT(close_range, (unsigned, unsigned, int), (5, 4, 0));
  NOTHING(closefrom, (int), (800));
  close(41);
  close(a);
  close(b);
}
