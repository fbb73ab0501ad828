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

// The bytes of a read, at once.
ssize_t read_bytes(int fd, const Pieces& pieces) {
  if (pieces.offset < 0 && pieces.flags == 0) return REAL(readv)(fd, pieces.parts, pieces.count);
  return REAL(preadv2)(fd, pieces.parts, pieces.count, pieces.offset, pieces.flags);
}

// The bytes of a write, at once; where they begin. There is room for all of them or none.
ssize_t write_bytes(int fd, const FilePath& file, const Pieces& pieces, uint64_t* begin) {
  const uint64_t bytes = bytes_of(pieces);
  *begin = 0;
  if (bytes == 0 || !is_regular(fd)) return really_write(fd, pieces);
  *begin = write_offset(fd, pieces);
  const uint64_t size = size_of(fd);
  const uint64_t end = *begin + bytes;
  if (end > size && !file_hooks()->resize(file, end)) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t count = file_hooks()->discards_data ? pretend_to_write(fd, pieces, *begin, bytes)
                                                    : really_write(fd, pieces);
  if (count != static_cast<ssize_t>(bytes) && end > size) {
    const int error = errno;
    file_hooks()->failed(file, count < 0 ? error : ENOSPC);  // the host took a part only
    file_hooks()->resize(file, size_of(fd));
    errno = error;
  }
  return count;
}

}  // namespace

// Nothing is asked of the host's own devices.
int flush_file(const char* call, int fd) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  operation.flush(open->file);
  return operation.result(0);
}

ssize_t read_file(const char* call, int fd, const Pieces& pieces) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  const off_t at = pieces.offset >= 0 ? pieces.offset : REAL(lseek)(fd, 0, SEEK_CUR);
  const ssize_t count = read_bytes(fd, pieces);
  operation.asked_for(at, bytes_of(pieces));
  if (count > 0)
    operation.moved(open->file, false, static_cast<uint64_t>(at), static_cast<uint64_t>(count));
  return operation.result(count);
}

ssize_t write_file(const char* call, int fd, const Pieces& pieces) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(call);
  uint64_t begin = 0;
  const ssize_t count = write_bytes(fd, open->file, pieces, &begin);
  operation.asked_for(static_cast<int64_t>(begin), bytes_of(pieces));
  if (count > 0) operation.moved(open->file, true, begin, static_cast<uint64_t>(count));
  return operation.result(count);
}

ssize_t start_transfer(int fd, bool is_write, const Pieces& pieces, void** ticket) {
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation(is_write ? "aio_write" : "aio_read");
  auto at = static_cast<uint64_t>(pieces.offset);
  const ssize_t count =
      is_write ? write_bytes(fd, open->file, pieces, &at) : read_bytes(fd, pieces);
  operation.asked_for(static_cast<int64_t>(at), bytes_of(pieces));
  if (count > 0)
    *ticket = file_hooks()->start(open->file, is_write, at, static_cast<uint64_t>(count));
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
int rank_posix_fadvise(int fd, off_t offset, off_t bytes, int advice) {
  const int error = REAL(posix_fadvise)(fd, offset, bytes, advice);
  if (error != 0 || advice != POSIX_FADV_DONTNEED || open_file(fd) == nullptr) return error;
  const std::shared_ptr<OpenFile> open = g_open_files[static_cast<size_t>(fd)];
  FileOperation operation("posix_fadvise");
  file_hooks()->drop(open->file, static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes));
  return operation.result(0);
}

}  // extern "C"

void bind_file_data(BindingTable& table) {
  BIND(table, posix_fadvise);
  BIND_AS(table, "posix_fadvise64", posix_fadvise);
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
