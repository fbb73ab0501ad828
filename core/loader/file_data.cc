// Reads and writes of files on simulated file systems. The bytes are moved on the host when all
// earlier events have been processed; then the simulated time of the access passes.
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

// The kernel moves no more in one call (MAX_RW_COUNT).
constexpr uint64_t kMostBytes = 0x7ffff000;

uint64_t size_of(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

uint64_t bytes_of(const IoVector& data) {
  uint64_t bytes = 0;
  for (int i = 0; i < data.count; ++i) bytes += data.parts[i].iov_len;
  return bytes;
}

bool is_regular(int fd) {
  struct stat status;
  return REAL(fstat)(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Where a write begins: at the end of the file with O_APPEND.
uint64_t write_offset(int fd, const IoVector& data) {
  const int flags = fcntl(fd, F_GETFL);
  if ((flags & O_APPEND) != 0) return size_of(fd);
  return static_cast<uint64_t>(data.offset >= 0 ? data.offset : REAL(lseek)(fd, 0, SEEK_CUR));
}

ssize_t write_to_host(int fd, const IoVector& data) {
  if (data.offset < 0 && data.flags == 0) return REAL(writev)(fd, data.parts, data.count);
  return REAL(pwritev2)(fd, data.parts, data.count, data.offset, data.flags);
}

// Drops these bytes from the cache of the rank's node; `bytes` 0: all from the offset on.
void drop_from_cache(const ResolvedPath& path, uint64_t offset, uint64_t bytes) {
  storage::drop_cached(path, offset, bytes == 0 ? UINT64_MAX : offset + bytes);
}

// Reads the bytes at once.
ssize_t read_bytes(int fd, const IoVector& data) {
  if (data.offset < 0 && data.flags == 0) return REAL(readv)(fd, data.parts, data.count);
  return REAL(preadv2)(fd, data.parts, data.count, data.offset, data.flags);
}

// Writes the bytes at once and sets *begin to their offset. The file system has space for all of
// them or the write fails.
ssize_t write_bytes(int fd, const OpenFile& file, const IoVector& data, uint64_t* begin) {
  const uint64_t bytes = bytes_of(data);
  *begin = 0;
  if (bytes == 0 || !is_regular(fd)) return write_to_host(fd, data);
  // A write of no bytes fails if the descriptor is not open for writing.
  if (file.discards_data() && REAL(write)(fd, nullptr, 0) < 0) return -1;
  *begin = write_offset(fd, data);
  const uint64_t end = *begin + bytes;
  if (const int error = file.reserve(fd, end); error != 0) {
    errno = error;
    return -1;
  }
  if (file.discards_data()) {
    if (data.offset < 0) REAL(lseek)(fd, static_cast<off_t>(end), SEEK_SET);
    return static_cast<ssize_t>(bytes);
  }
  const ssize_t count = write_to_host(fd, data);
  if (count < static_cast<ssize_t>(std::min(bytes, kMostBytes))) {
    const int error = errno;
    file.write_failed(fd, count < 0 ? error : ENOSPC);  // the host wrote only a part
    errno = error;
  }
  return count;
}

}  // namespace

// The host's own devices are not flushed.
int flush_file(const char* call, int fd) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation(call);
  operation.charge_flush(*open);
  return operation.result(0);
}

ssize_t read_file(const char* call, int fd, const IoVector& data) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation(call);
  if (!is_still(fd, *open)) return operation.fail(EBADF);
  const off_t at = data.offset >= 0 ? data.offset : REAL(lseek)(fd, 0, SEEK_CUR);
  const ssize_t count = read_bytes(fd, data);
  operation.asked_for(at, bytes_of(data));
  if (count > 0)
    operation.charge_access(*open, Direction::kRead, static_cast<uint64_t>(at),
                            static_cast<uint64_t>(count));
  return operation.result(count);
}

ssize_t write_file(const char* call, int fd, const IoVector& data) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation(call);
  if (!is_still(fd, *open)) return operation.fail(EBADF);
  uint64_t begin = 0;
  const ssize_t count = write_bytes(fd, *open, data, &begin);
  operation.asked_for(static_cast<int64_t>(begin), bytes_of(data));
  if (count > 0)
    operation.charge_access(*open, Direction::kWrite, begin, static_cast<uint64_t>(count));
  return operation.result(count);
}

ssize_t start_transfer(int fd, Direction direction, const IoVector& data, void** ticket) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  const bool is_write = direction == Direction::kWrite;
  FileOperation operation(is_write ? "aio_write" : "aio_read");
  if (!is_still(fd, *open)) return operation.fail(EBADF);
  auto at = static_cast<uint64_t>(data.offset);
  const ssize_t count = is_write ? write_bytes(fd, *open, data, &at) : read_bytes(fd, data);
  operation.asked_for(static_cast<int64_t>(at), bytes_of(data));
  if (count > 0)
    *ticket = operation.start_access(*open, direction, at, static_cast<uint64_t>(count));
  return operation.result(count);
}

int truncate_file(const char* call, int fd, off_t size) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation(call);
  if (!is_still(fd, *open)) return operation.fail(EBADF);
  int error = EINVAL;  // of a size below 0
  if (size >= 0) error = open->resize(fd, static_cast<uint64_t>(size));
  if (error == ENOSPC) return operation.fail(error);
  operation.charge_metadata(open->path(), MetadataCall::kStat);
  return error == 0 ? operation.result(0) : operation.fail(error);
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
  const bool drops = error == 0 && advice == POSIX_FADV_DONTNEED;
  const std::shared_ptr<OpenFile> open = drops ? keep_open(fd) : nullptr;
  if (open == nullptr) return error;
  FileOperation operation("posix_fadvise");
  drop_from_cache(open->path(), static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes));
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
