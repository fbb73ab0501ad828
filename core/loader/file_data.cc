// Data through descriptors of files on simulated file systems. The bytes really move, when
// everything earlier has happened; then the time for them passes.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

uint64_t size_of(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

uint64_t bytes_of(const Pieces& pieces) {
  uint64_t bytes = 0;
  for (int i = 0; i < pieces.count; ++i) bytes += pieces.parts[i].iov_len;
  return bytes;
}

bool is_regular(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Where a write begins: at the end of the file with O_APPEND.
uint64_t write_offset(int fd, const Pieces& pieces) {
  const int flags = fcntl(fd, F_GETFL);
  if ((flags & O_APPEND) != 0) return size_of(fd);
  return static_cast<uint64_t>(pieces.offset >= 0 ? pieces.offset : REAL(lseek)(fd, 0, SEEK_CUR));
}

// Only the size, and where the descriptor stands. A descriptor that cannot be written to says so.
ssize_t pretend_to_write(int fd, const Pieces& pieces, uint64_t begin, uint64_t bytes) {
  if (REAL(write)(fd, nullptr, 0) < 0) return -1;
  const uint64_t end = begin + bytes;
  if (end > size_of(fd) && REAL(ftruncate)(fd, static_cast<off_t>(end)) != 0) return -1;
  if (pieces.offset < 0) REAL(lseek)(fd, static_cast<off_t>(end), SEEK_SET);
  return static_cast<ssize_t>(bytes);
}

ssize_t really_write(int fd, const Pieces& pieces) {
  if (pieces.offset < 0 && pieces.flags == 0) return REAL(writev)(fd, pieces.parts, pieces.count);
  return REAL(pwritev2)(fd, pieces.parts, pieces.count, pieces.offset, pieces.flags);
}

// Nothing is asked of the host's own devices.
int flush_file(const char* call, int fd) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  operation.flush(open->file);
  return operation.result(0);
}

}  // namespace

ssize_t read_file(const char* call, int fd, const Pieces& pieces) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  const off_t at = pieces.offset >= 0 ? pieces.offset : REAL(lseek)(fd, 0, SEEK_CUR);
  const ssize_t count =
      pieces.offset < 0 && pieces.flags == 0
          ? REAL(readv)(fd, pieces.parts, pieces.count)
          : REAL(preadv2)(fd, pieces.parts, pieces.count, pieces.offset, pieces.flags);
  if (count > 0)
    operation.moved(open->file, false, static_cast<uint64_t>(at), static_cast<uint64_t>(count));
  return operation.result(count);
}

ssize_t write_file(const char* call, int fd, const Pieces& pieces) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  const FilePath& file = open->file;
  const uint64_t bytes = bytes_of(pieces);
  if (bytes == 0 || !is_regular(fd)) return operation.result(really_write(fd, pieces));
  const uint64_t begin = write_offset(fd, pieces);
  const uint64_t size = size_of(fd);
  if (begin + bytes > size && !file_hooks()->resize(file, begin + bytes))
    return operation.fail(ENOSPC);
  const ssize_t count = file_hooks()->discards_data ? pretend_to_write(fd, pieces, begin, bytes)
                                                    : really_write(fd, pieces);
  if (count != static_cast<ssize_t>(bytes) && begin + bytes > size) {
    const int error = errno;
    file_hooks()->resize(file, size_of(fd));
    errno = error;
  }
  if (count > 0) operation.moved(file, true, begin, static_cast<uint64_t>(count));
  return operation.result(count);
}

int truncate_file(const char* call, int fd, off_t size) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  const uint64_t before = size_of(fd);
  if (size >= 0 && !file_hooks()->resize(open->file, static_cast<uint64_t>(size)))
    return operation.fail(ENOSPC);
  const int status = REAL(ftruncate)(fd, size);
  if (status != 0 && size >= 0) {
    const int error = errno;
    file_hooks()->resize(open->file, before);
    errno = error;
  }
  operation.metadata(open->file, FileCall::kStat);
  return operation.result(status);
}

extern "C" {

ssize_t rank_pread(int fd, void* data, size_t size, off_t offset) {
  if (open_file(fd) == nullptr) return REAL(pread)(fd, data, size, offset);
  const iovec part{data, size};
  return read_file("pread", fd, {&part, 1, offset});
}
ssize_t rank___pread_chk(int fd, void* data, size_t size, off_t offset, size_t) {
  return rank_pread(fd, data, size, offset);
}
ssize_t rank_pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (open_file(fd) == nullptr) return REAL(pwrite)(fd, data, size, offset);
  const iovec part{const_cast<void*>(data), size};
  return write_file("pwrite", fd, {&part, 1, offset});
}
ssize_t rank_preadv(int fd, const iovec* parts, int count, off_t offset) {
  if (open_file(fd) == nullptr) return REAL(preadv)(fd, parts, count, offset);
  return read_file("preadv", fd, {parts, count, offset});
}
ssize_t rank_pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (open_file(fd) == nullptr) return REAL(pwritev)(fd, parts, count, offset);
  return write_file("pwritev", fd, {parts, count, offset});
}
ssize_t rank_preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (open_file(fd) == nullptr) return REAL(preadv2)(fd, parts, count, offset, flags);
  return read_file("preadv2", fd, {parts, count, offset, flags});
}
ssize_t rank_pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  if (open_file(fd) == nullptr) return REAL(pwritev2)(fd, parts, count, offset, flags);
  return write_file("pwritev2", fd, {parts, count, offset, flags});
}

int rank_fsync(int fd) {
  if (open_file(fd) == nullptr) return REAL(fsync)(fd);
  return flush_file("fsync", fd);
}
int rank_fdatasync(int fd) {
  if (open_file(fd) == nullptr) return REAL(fdatasync)(fd);
  return flush_file("fdatasync", fd);
}

}  // extern "C"

void bind_file_data(BindingTable& table) {
  BIND(table, pread);
  BIND_AS(table, "pread64", pread);
  BIND(table, __pread_chk);
  BIND_AS(table, "__pread64_chk", __pread_chk);
  BIND(table, pwrite);
  BIND_AS(table, "pwrite64", pwrite);
  BIND(table, preadv);
  BIND_AS(table, "preadv64", preadv);
  BIND(table, pwritev);
  BIND_AS(table, "pwritev64", pwritev);
  BIND(table, preadv2);
  BIND_AS(table, "preadv64v2", preadv2);
  BIND(table, pwritev2);
  BIND_AS(table, "pwritev64v2", pwritev2);
  BIND(table, fsync);
  BIND(table, fdatasync);
}

}  // namespace sesame::loader
