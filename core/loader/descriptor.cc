// Descriptors 0, 1 and 2 of a rank behave like pipes to the simulator. Other descriptors are those
// of the simulator process, or of simulated files (files.h).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/process.h"
#include "core/loader/real.h"
#include "core/loader/waiting.h"

namespace sesame::loader {
namespace {

bool is_output(int fd) {
  return kRanksShareProcess && (fd == STDOUT_FILENO || fd == STDERR_FILENO);
}
bool is_input(int fd) { return kRanksShareProcess && fd == STDIN_FILENO; }
bool is_standard(int fd) { return is_input(fd) || is_output(fd); }

int describe_pipe(int fd, struct stat* result) {
  *result = {};
  result->st_mode = S_IFIFO | (fd == STDIN_FILENO ? 0400 : 0200);
  result->st_nlink = 1;
  result->st_blksize = 4096;
  result->st_ino = static_cast<ino_t>(fd + 1);
  return 0;
}

}  // namespace

extern "C" {

ssize_t rank_write(int fd, const void* data, size_t size) {
  RankProcess* process = current();
  if (open_file(fd) != nullptr) {
    const iovec part{const_cast<void*>(data), size};
    return write_file("write", fd, {&part, 1, -1});
  }
  if (process == nullptr || !is_output(fd)) return REAL(write)(fd, data, size);
  hooks().write_output(process->rank, fd, static_cast<const char*>(data), size);
  return static_cast<ssize_t>(size);
}
GLOBAL_NAME(write);

ssize_t rank_writev(int fd, const iovec* parts, int count) {
  RankProcess* process = current();
  if (open_file(fd) != nullptr) return write_file("writev", fd, {parts, count, -1});
  if (process == nullptr || !is_output(fd)) return REAL(writev)(fd, parts, count);
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) total += rank_write(fd, parts[i].iov_base, parts[i].iov_len);
  return total;
}
GLOBAL_NAME(writev);

ssize_t rank_read(int fd, void* data, size_t size) {
  const RankProcess* process = current();
  if (process != nullptr && is_input(fd) && process->rank != 0) return 0;
  if (open_file(fd) != nullptr) {
    const iovec part{data, size};
    return read_file("read", fd, {&part, 1, -1});
  }
  if (!is_input(fd)) wait_for_input(fd);
  return REAL(read)(fd, data, size);
}
GLOBAL_NAME(read);

ssize_t rank___read_chk(int fd, void* data, size_t size, size_t) {
  return rank_read(fd, data, size);
}

ssize_t rank_readv(int fd, const iovec* parts, int count) {
  const RankProcess* process = current();
  if (process != nullptr && is_input(fd) && process->rank != 0) return 0;
  if (open_file(fd) != nullptr) return read_file("readv", fd, {parts, count, -1});
  if (!is_input(fd)) wait_for_input(fd);
  return REAL(readv)(fd, parts, count);
}

int rank_isatty(int fd) {
  if (current() != nullptr && is_standard(fd)) {
    errno = ENOTTY;
    return 0;
  }
  return REAL(isatty)(fd);
}

char* rank_ttyname(int fd) {
  if (current() == nullptr || !is_standard(fd)) return REAL(ttyname)(fd);
  errno = ENOTTY;
  return nullptr;
}

int rank_fstat(int fd, struct stat* result) {
  if (open_file(fd) != nullptr) return describe_file(fd, result);
  if (current() == nullptr || !is_standard(fd)) return REAL(fstat)(fd, result);
  return describe_pipe(fd, result);
}

GLOBAL_NAME(fstat);
GLOBAL_NAME_AS(fstat64, fstat);

int rank___fxstat(int, int fd, struct stat* result) { return rank_fstat(fd, result); }

off_t rank_lseek(int fd, off_t offset, int whence) {
  if (current() != nullptr && is_standard(fd)) return fail(ESPIPE);
  return REAL(lseek)(fd, offset, whence);
}

GLOBAL_NAME(lseek);
GLOBAL_NAME_AS(lseek64, lseek);

int rank_close(int fd) {
  if (current() != nullptr && is_standard(fd)) return 0;  // the host's, which other ranks need
  if (open_file(fd) == nullptr) return REAL(close)(fd);
  // The rank has closed it before, and another one was given its number meanwhile.
  return is_of_other_rank(fd) ? fail(EBADF) : close_descriptor(fd);
}

GLOBAL_NAME(close);

int rank_ftruncate(int fd, off_t size) {
  if (current() != nullptr && is_standard(fd)) return fail(EINVAL);
  if (open_file(fd) != nullptr) return truncate_file("ftruncate", fd, size);
  return REAL(ftruncate)(fd, size);
}

}  // extern "C"

void bind_descriptors(BindingTable& table) {
  BIND(table, write);
  BIND_AS(table, "__write", write);
  BIND(table, writev);
  BIND(table, read);
  BIND_AS(table, "__read", read);
  BIND(table, __read_chk);
  BIND(table, readv);
  BIND(table, isatty);
  BIND(table, ttyname);
  BIND(table, fstat);
  BIND_AS(table, "fstat64", fstat);
  BIND(table, __fxstat);
  BIND_AS(table, "__fxstat64", __fxstat);
  BIND(table, lseek);
  BIND_AS(table, "lseek64", lseek);
  BIND(table, close);
  BIND(table, ftruncate);
  BIND_AS(table, "ftruncate64", ftruncate);
}

}  // namespace sesame::loader
