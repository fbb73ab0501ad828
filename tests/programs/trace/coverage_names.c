/* Files by their names. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "coverage.h"

static char data[8192];

static void cover_attributes(void) {
  struct timespec times[2] = {{1, 2}, {3, 4}};
  struct timeval old_times[2] = {{1, 2}, {3, 4}};
#define STATUS (const char*, void*)
  INT(stat, STATUS, ("a", data));
  INT(stat64, STATUS, ("not-there", data));
  INT(lstat, STATUS, ("a", data));
  INT(lstat64, STATUS, ("", data));
  INT(__xstat, (int, const char*, void*), (1, "a", data));
  INT(__xstat64, (int, const char*, void*), (1, (const char*)8, data));
  INT(__lxstat, (int, const char*, void*), (1, "a", data));
  INT(__lxstat64, (int, const char*, void*), (1, "a", data));
  INT(fstatat, (int, const char*, void*, int), (AT_FDCWD, "a", data, 0));
  INT(fstatat64, (int, const char*, void*, int), (AT_FDCWD, "", data, AT_EMPTY_PATH));
  INT(__fxstatat, (int, int, const char*, void*, int), (1, AT_FDCWD, "a", data, 0));
  INT(__fxstatat64, (int, int, const char*, void*, int), (1, AT_FDCWD, "a", data, 0));
  INT(statx, (int, const char*, int, unsigned, void*), (AT_FDCWD, "a", 0, 0x7ff, data));
  INT(statfs, STATUS, ("a", data));
  INT(statfs64, STATUS, ("a", data));
  INT(__statfs, STATUS, ("a", data));
  INT(statvfs, STATUS, ("a", data));
  INT(statvfs64, STATUS, ("a", data));
  INT(access, (const char*, int), ("a", R_OK));
  INT(eaccess, (const char*, int), ("a", R_OK));
  INT(euidaccess, (const char*, int), ("a", X_OK));
  INT(faccessat, (int, const char*, int, int), (AT_FDCWD, "a", R_OK, 0));
  INT(chmod, (const char*, mode_t), ("a", 0600));
  INT(lchmod, (const char*, mode_t), ("a", 0600));
  INT(fchmodat, (int, const char*, mode_t, int), (AT_FDCWD, "a", 0600, 0));
  INT(chown, (const char*, uid_t, gid_t), ("a", -1, -1));
  INT(lchown, (const char*, uid_t, gid_t), ("a", -1, -1));
  INT(fchownat, (int, const char*, uid_t, gid_t, int), (AT_FDCWD, "a", -1, -1, 0));
  INT(utime, (const char*, const void*), ("a", NULL));
  INT(utimes, (const char*, const void*), ("a", old_times));
  INT(lutimes, (const char*, const void*), ("a", old_times));
  INT(futimesat, (int, const char*, const void*), (AT_FDCWD, "a", old_times));
  INT(utimensat, (int, const char*, const void*, int), (AT_FDCWD, "a", times, 0));
#define GET_ATTRIBUTE (const char*, const char*, void*, size_t)
#define SET_ATTRIBUTE (const char*, const char*, const void*, size_t, int)
  INT(setxattr, SET_ATTRIBUTE, ("a", "user.x", "y", 1, 0));
  INT(lsetxattr, SET_ATTRIBUTE, ("a", "user.z", "y", 1, 0));
  LONG(getxattr, GET_ATTRIBUTE, ("a", "user.x", data, 100));
  LONG(lgetxattr, GET_ATTRIBUTE, ("a", "user.q", data, 100));
  LONG(listxattr, (const char*, char*, size_t), ("a", data, 100));
  LONG(llistxattr, (const char*, char*, size_t), ("a", data, 100));
  INT(removexattr, (const char*, const char*), ("a", "user.x"));
  INT(lremovexattr, (const char*, const char*), ("a", "user.z"));
  INT(truncate, (const char*, off_t), ("a", 5));
  INT(truncate64, (const char*, off_t), ("a", -5));
}

static void cover_links(void) {
#define TWO (const char*, const char*)
  INT(link, TWO, ("a", "l1"));
  INT(linkat, (int, const char*, int, const char*, int), (AT_FDCWD, "a", AT_FDCWD, "l2", 0));
  INT(symlink, TWO, ("a", "s1"));
  INT(symlinkat, (const char*, int, const char*), ("a", AT_FDCWD, "s2"));
  LONG(readlink, (const char*, char*, size_t), ("s1", data, 100));
  LONG(__readlink_chk, (const char*, char*, size_t, size_t), ("s1", data, 100, 100));
  LONG(readlinkat, (int, const char*, char*, size_t), (AT_FDCWD, "s1", data, 100));
  LONG(__readlinkat_chk, (int, const char*, char*, size_t, size_t),
       (AT_FDCWD, "a", data, 100, 100));
  POINTER(realpath, (const char*, char*), ("s1", data));
  POINTER(__realpath_chk, (const char*, char*, size_t), ("s1", data, sizeof data));
  POINTER(canonicalize_file_name, (const char*), ("s1"));
  free(found);
  INT(rename, TWO, ("l1", "l3"));
  INT(renameat, (int, const char*, int, const char*), (AT_FDCWD, "l2", AT_FDCWD, "l4"));
  INT(renameat2, (int, const char*, int, const char*, unsigned),
      (AT_FDCWD, "l3", AT_FDCWD, "l4", 1));
  INT(unlink, (const char*), ("l3"));
  INT(unlinkat, (int, const char*, int), (AT_FDCWD, "l4", 0));
  INT(remove, (const char*), ("s1"));
  unlink("s2");
}

void cover_names(void) {
  char long_name[6000], made[] = "made-XXXXXX", named[] = "made-XXXXXX";
  dev_t device = 0;
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  close(fresh_file("a", "0123456789"));
  cover_attributes();
  cover_links();
  INT(shm_unlink, (const char*), ("/sesame-coverage"));
  INT(mkdir, (const char*, mode_t), ("d1", 0700));
  INT(mkdirat, (int, const char*, mode_t), (AT_FDCWD, long_name, 0700));
  INT(rmdir, (const char*), ("d1"));
  INT(mkfifo, (const char*, mode_t), ("f1", 0600));
  INT(mkfifoat, (int, const char*, mode_t), (AT_FDCWD, "f2", 0600));
  INT(mknod, (const char*, mode_t, dev_t), ("f3", S_IFREG | 0600, 0));
  INT(mknodat, (int, const char*, mode_t, dev_t), (AT_FDCWD, "f4", S_IFREG | 0600, 0));
  INT(__xmknod, (int, const char*, mode_t, dev_t*), (0, "f5", S_IFREG | 0600, &device));
  INT(__xmknodat, (int, int, const char*, mode_t, dev_t*),
      (0, AT_FDCWD, "f6", S_IFREG | 0600, &device));
  for (const char* name = "123456"; *name; ++name) unlink((char[]){'f', *name, '\0'});
  POINTER(mkdtemp, (char*), (made));
  rmdir(made);
  POINTER(mktemp, (char*), (named));
  INT(chdir, (const char*), ("."));
  INT(chroot, (const char*), ("not-there"));
}

static int visit(const char* path, const struct stat* status, int kind) {
  (void)path, (void)status, (void)kind;
  return 0;
}
static int visit_deep(const char* path, const struct stat* status, int kind, struct FTW* place) {
  (void)path, (void)status, (void)kind, (void)place;
  return 0;
}

static void cover_walks(void) {
  void* names;
  char* paths[] = {"tree", NULL};
  glob_t matches;
#define SCAN (const char*, void*, void*, void*)
#define SCAN_AT (int, const char*, void*, void*, void*)
  INT(scandir, SCAN, ("tree", &names, NULL, NULL));
  INT(scandir64, SCAN, ("not-there", &names, NULL, NULL));
  INT(scandirat, SCAN_AT, (AT_FDCWD, "tree", &names, NULL, NULL));
  INT(scandirat64, SCAN_AT, (AT_FDCWD, "tree", &names, NULL, NULL));
  INT(ftw, (const char*, void*, int), ("tree", visit, 5));
  INT(ftw64, (const char*, void*, int), ("tree", visit, 5));
  INT(nftw, (const char*, void*, int, int), ("tree", visit_deep, 5, 0));
  INT(nftw64, (const char*, void*, int, int), ("tree", visit_deep, 5, 0));
  INT(glob, (const char*, int, void*, void*), ("tree/*", 0, NULL, &matches));
  INT(glob64, (const char*, int, void*, void*), ("tree/*", 0, NULL, &matches));
  POINTER(fts_open, (char**, int, void*), (paths, FTS_PHYSICAL, NULL));
  void* walk = found;
  POINTER(fts_read, (void*), (walk));
  POINTER(fts_children, (void*, int), (walk, 0));
  INT(fts_close, (void*), (walk));
  POINTER(fts64_open, (char**, int, void*), (paths, FTS_PHYSICAL, NULL));
  walk = found;
  POINTER(fts64_read, (void*), (walk));
  POINTER(fts64_children, (void*, int), (walk, 0));
  INT(fts64_close, (void*), (walk));
}

void cover_directories(void) {
  void* entry = data;
  mkdir("tree", 0700);
  close(fresh_file("tree/x", "x"));
  cover_walks();
  POINTER(opendir, (const char*), ("not-there"));
  POINTER(opendir, (const char*), ("tree"));
  void* directory = found;
  POINTER(readdir, (void*), (directory));
  POINTER(readdir64, (void*), (directory));
  INT(readdir_r, (void*, void*, void*), (directory, data, &entry));
  INT(readdir64_r, (void*, void*, void*), (directory, data, &entry));
  POINTER(readdir, (void*), (directory));
  NOTHING(rewinddir, (void*), (directory));
  NOTHING(seekdir, (void*, long), (directory, telldir(directory)));
  INT(closedir, (void*), (directory));
  int file = open("tree", O_RDONLY | O_DIRECTORY);
  POINTER(fdopendir, (int), (file));
  closedir(found);
}
