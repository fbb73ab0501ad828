/* Files by descriptor and by name: every family of calls writes and reads back, and each rank says
   what it got. Uses a directory of its own in the working directory, "posix-RANK". */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int rank;

static void say(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("rank %d: %s\n", rank, text);
}

/* A call that must fail, and how. */
static void refused(const char* what, long result) { say("%s %ld errno %d", what, result, errno); }

static unsigned long sum(const unsigned char* data, size_t size) {
  unsigned long total = 5381;
  for (size_t i = 0; i < size; ++i) total = total * 33 + data[i];
  return total;
}

static unsigned long sum_of_file(const char* path) {
  static unsigned char data[1 << 17];
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, data, sizeof data);
  close(fd);
  return sum(data, (size_t)size) + (unsigned long)size;
}

static long size_of(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static void plain(void) {
  unsigned char data[10000], back[10000];
  for (size_t i = 0; i < sizeof data; ++i) data[i] = (unsigned char)(i * 7 + (size_t)rank);
  int fd = open("plain", O_CREAT | O_RDWR | O_EXCL, 0640);
  say("write %zd", write(fd, data, sizeof data));
  say("lseek %ld", (long)lseek(fd, 100, SEEK_SET));
  say("read %zd", read(fd, back, 50));
  say("same %d", memcmp(back, data + 100, 50) == 0);
  say("at %ld", (long)lseek(fd, 0, SEEK_CUR));
  say("pread %zd", pread(fd, back, sizeof back, 9000));
  say("pwrite %zd", pwrite(fd, "tail", 4, 12000));
  struct iovec parts[2] = {{back, 10}, {back + 10, 20}};
  say("readv %zd", readv(fd, parts, 2));
  say("writev %zd", writev(fd, parts, 2));
  say("preadv %zd", preadv(fd, parts, 2, 5));
  say("pwritev %zd", pwritev(fd, parts, 2, 20000));
  say("end %ld", (long)lseek(fd, 0, SEEK_END));
  say("read at the end %zd", read(fd, back, 10));
  say("ftruncate %d", ftruncate(fd, 15000));
  struct stat status;
  say("fstat %d", fstat(fd, &status));
  say("size %ld mode %o", (long)status.st_size, status.st_mode);
  say("fsync %d fdatasync %d", fsync(fd), fdatasync(fd));
  const int other = dup(fd);
  lseek(fd, 77, SEEK_SET);
  say("dup at %ld", (long)lseek(other, 0, SEEK_CUR));
  say("close %d %d", close(fd), close(other));
  refused("close again", close(other));
  refused("again O_EXCL", open("plain", O_CREAT | O_EXCL | O_RDWR, 0600));
  fd = open("plain", O_RDONLY);
  refused("write to a read-only one", write(fd, "x", 1));
  close(fd);
  fd = open("plain", O_WRONLY | O_APPEND);
  say("append %zd", write(fd, "end", 3));
  say("fallocate %d", posix_fallocate(fd, 0, 30000));
  close(fd);
  say("size %ld", size_of("plain"));
  say("sum %lu", sum_of_file("plain"));
  refused("missing", open("missing/x", O_RDONLY));
}

static void names(void) {
  say("mkdir %d", mkdir("d", 0755));
  refused("again", mkdir("d", 0755));
  say("mkdirat %d", mkdirat(AT_FDCWD, "d/e", 0755));
  const int directory = open("d", O_RDONLY | O_DIRECTORY);
  const int fd = openat(directory, "a", O_CREAT | O_WRONLY, 0600);
  say("write %zd", write(fd, "hello", 5));
  close(fd);
  say("faccessat %d", faccessat(directory, "a", R_OK, 0));
  say("link %d", link("d/a", "d/b"));
  say("symlink %d", symlink("b", "d/c"));
  char text[64] = "";
  say("readlink %zd", readlink("d/c", text, sizeof text - 1));
  say("to %s", text);
  struct stat status;
  say("lstat %d", lstat("d/c", &status));
  say("link %d", S_ISLNK(status.st_mode));
  say("stat %d", stat("d/c", &status));
  say("size %ld links %d", (long)status.st_size, (int)status.st_nlink);
  say("fstatat %d", fstatat(directory, "b", &status, 0));
  struct statx more;
  say("statx %d", statx(AT_FDCWD, "d/b", 0, STATX_SIZE, &more));
  say("size %llu", more.stx_size);
  say("rename %d", rename("d/b", "d/e/moved"));
  refused("through the broken link", open("d/c", O_RDONLY));
  say("renameat %d", renameat(directory, "e/moved", AT_FDCWD, "d/back"));
  say("truncate %d", truncate("d/back", 3));
  say("size %ld", size_of("d/a"));
  DIR* stream = opendir("d");
  unsigned long all = 0;
  int count = 0;
  for (struct dirent* entry; (entry = readdir(stream)) != NULL; ++count)
    all += sum((const unsigned char*)entry->d_name, strlen(entry->d_name)) + entry->d_type;
  closedir(stream);
  say("%d entries, %lu", count, all);
  struct dirent** found;
  const int entries = scandir("d", &found, NULL, alphasort);
  for (int i = 0; i < entries; ++i) say("entry %s", found[i]->d_name);
  glob_t matching;
  say("glob %d", glob("[d]/[a-c]*", GLOB_MARK, NULL, &matching));
  for (size_t i = 0; i < matching.gl_pathc; ++i) say("matches %s", matching.gl_pathv[i]);
  globfree(&matching);
  refused("rmdir of a full one", rmdir("d"));
  say("unlink %d", unlink("d/a"));
  refused("of a directory", unlink("d/e"));
  say("unlinkat %d", unlinkat(directory, "back", 0));
  say("remove %d %d", remove("d/c"), remove("d/e"));
  close(directory);
  say("rmdir %d", rmdir("d"));
  refused("access", access("d", F_OK));
}

static void places(void) {
  char before[PATH_MAX], inside[PATH_MAX], real[PATH_MAX];
  getcwd(before, sizeof before);
  mkdir("place", 0755);
  say("chdir %d", chdir("place"));
  refused("chdir to nothing", chdir("nowhere"));
  getcwd(inside, sizeof inside);
  say("getcwd %s", inside + strlen(before));
  const int fd = open("here", O_CREAT | O_WRONLY, 0600);
  say("write %zd", write(fd, "1234", 4));
  close(fd);
  realpath("../place/./here", real);
  say("realpath %s", real + strlen(before));
  errno = 0;
  say("realpath of nothing %d", realpath("none", real) != NULL);
  say("errno %d", errno);
  const ssize_t exe = readlinkat(AT_FDCWD, "/proc/self/exe", real, sizeof real - 1);
  say("exe %d", exe > 0 && memmem(real, (size_t)exe, "posix", 5) != NULL);
  say("chdir back %d", chdir(".."));
  say("size %ld", size_of("place/here"));
}

static void copies(void) {
  const int from = open("plain", O_RDONLY);
  int to = open("copy", O_CREAT | O_RDWR, 0600);
  off_t offset = 10;
  say("sendfile %zd", sendfile(to, from, &offset, 5000));
  say("copy_file_range %zd", copy_file_range(from, NULL, to, NULL, 6000, 0));
  say("sum %lu", sum_of_file("copy"));
  unsigned char* map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
  say("mapped %lu", sum(map, 8192));
  memcpy(map + 100, "through the map", 15);
  say("msync %d", msync(map, 8192, MS_SYNC));
  say("munmap %d", munmap(map, 8192));
  close(to);
  close(from);
  say("sum %lu", sum_of_file("copy"));
  char pattern[] = "temporary-XXXXXX";
  to = mkstemp(pattern);
  say("mkstemp %d write %zd", to >= 0, write(to, "abc", 3));
  say("size %ld", size_of(pattern));
  say("unlink %d", unlink(pattern));
  char back[4] = "";
  say("still there %zd", pread(to, back, 3, 0));
  say("%s", back);
  close(to);
}

/* As a run-time library probes what the kernel knows; and a directory that is not open. */
static void wrong_names(void) {
  struct stat status;
  struct statx more;
  const char *volatile none = NULL;
  const int plainly = fstatat(AT_FDCWD, none, &status, 0);
  say("no name %d %d", plainly, errno == EFAULT);
  const int extended = statx(0, none, 0, STATX_ALL, &more);
  say("no name %d %d", extended, errno == EFAULT);
  const int renamed = renameat(AT_FDCWD, "plain", 999, "elsewhere");
  say("no directory %d %d", renamed, errno == EBADF);
  const int linked = linkat(AT_FDCWD, "plain", 999, "elsewhere", 0);
  say("no directory %d %d", linked, errno == EBADF);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char own[32];
  snprintf(own, sizeof own, "posix-%d", rank);
  mkdir(own, 0755);
  if (chdir(own) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  plain();
  wrong_names();
  names();
  places();
  copies();
  MPI_Barrier(MPI_COMM_WORLD);
  const int left = open("../posix-0/plain", O_RDONLY);
  say("another rank's file %d", left >= 0);
  MPI_Finalize();
  return 0;
}
