// Copies between descriptors, and files mapped into memory. Accesses to mapped pages cannot be
// observed: reading is charged when they are mapped, writing by msync or when they are unmapped.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/undestroyed.h"
#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

constexpr size_t kCopyBytes = 1 << 20;

ssize_t read_chunk(int fd, void* data, size_t size, off_t offset) {
  const iovec part{data, size};
  if (open_file(fd) != nullptr) return read_file("read", fd, {&part, 1, offset});
  return offset < 0 ? REAL(read)(fd, data, size) : REAL(pread)(fd, data, size, offset);
}

ssize_t write_chunk(int fd, const void* data, size_t size, off_t offset) {
  const iovec part{const_cast<void*>(data), size};
  if (open_file(fd) != nullptr) return write_file("write", fd, {&part, 1, offset});
  return offset < 0 ? REAL(write)(fd, data, size) : REAL(pwrite)(fd, data, size, offset);
}

// Copies through a buffer, as the bytes go through the memory of the node. Advances an offset that
// is given, else the descriptor's position.
ssize_t copy_data(int from, off_t* from_at, int to, off_t* to_at, size_t size) {
  const auto buffer = std::make_unique<char[]>(std::min(size, kCopyBytes));
  size_t done = 0;
  while (done < size) {
    const size_t wanted = std::min(size - done, kCopyBytes);
    const ssize_t got = read_chunk(from, buffer.get(), wanted, from_at != nullptr ? *from_at : -1);
    if (got <= 0) return done > 0 ? static_cast<ssize_t>(done) : got;
    const ssize_t put =
        write_chunk(to, buffer.get(), static_cast<size_t>(got), to_at != nullptr ? *to_at : -1);
    if (put <= 0) return done > 0 ? static_cast<ssize_t>(done) : put;
    if (from_at != nullptr) *from_at += put;
    if (from_at == nullptr && put < got) REAL(lseek)(from, put - got, SEEK_CUR);
    if (to_at != nullptr) *to_at += put;
    done += static_cast<size_t>(put);
  }
  return static_cast<ssize_t>(done);
}

// A range of a file that a rank can write through memory.
struct Mapping {
  std::shared_ptr<OpenFile> open;
  size_t size = 0;
  uint64_t offset = 0;
};
Undestroyed<std::map<uintptr_t, Mapping>> g_mappings;  // by address

uint64_t bytes_mapped(int fd, size_t size, off_t offset) {
  struct stat status;
  if (REAL(fstat)(fd, &status) != 0 || status.st_size <= offset) return 0;
  return std::min<uint64_t>(size, static_cast<uint64_t>(status.st_size - offset));
}

// The part of a mapping at `address` that is in [low, high).
Mapping part_of(uintptr_t address, const Mapping& whole, uintptr_t low, uintptr_t high) {
  return {whole.open, high - low, whole.offset + (low - address)};
}

// The parts of writable mappings in these pages. With `forget` they are no longer mapped.
std::vector<Mapping> parts_in(void* address, size_t size, bool forget) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = (begin + size + page - 1) / page * page;
  std::vector<Mapping> found;
  const TableLock lock;
  auto entry = g_mappings->upper_bound(begin);
  if (entry != g_mappings->begin()) --entry;
  while (entry != g_mappings->end() && entry->first < end) {
    const auto [first, whole] = *entry;
    const uintptr_t last = first + whole.size;
    const uintptr_t low = std::max(begin, first), high = std::min(end, last);
    if (low >= high || !forget) {
      ++entry;
    } else {
      entry = g_mappings->erase(entry);
      if (first < low) (*g_mappings)[first] = part_of(first, whole, first, low);
      if (high < last) (*g_mappings)[high] = part_of(first, whole, high, last);
    }
    if (low < high) found.push_back(part_of(first, whole, low, high));
  }
  return found;
}

// Writes back the parts of writable mappings in [address, address + size).
void write_back(const char* call, void* address, size_t size, bool forget) {
  for (Mapping& part : parts_in(address, size, forget)) {
    FileOperation operation(call);
    operation.charge_access(*part.open, Direction::kWrite, part.offset, part.size);
    drop_open_file(std::move(part.open));  // the last use, if the program has closed the file
  }
}

}  // namespace

extern "C" {

ssize_t rank_sendfile(int to, int from, off_t* offset, size_t size) {
  if (open_file(to) == nullptr && open_file(from) == nullptr)
    return REAL(sendfile)(to, from, offset, size);
  return copy_data(from, offset, to, nullptr, size);
}
GLOBAL_NAME(sendfile);

ssize_t rank_copy_file_range(int from, off_t* from_at, int to, off_t* to_at, size_t size,
                             unsigned flags) {
  if (open_file(to) == nullptr && open_file(from) == nullptr)
    return REAL(copy_file_range)(from, from_at, to, to_at, size, flags);
  return copy_data(from, from_at, to, to_at, size);
}
GLOBAL_NAME(copy_file_range);

ssize_t rank_splice(int from, off_t* from_at, int to, off_t* to_at, size_t size, unsigned flags) {
  if (open_file(to) == nullptr && open_file(from) == nullptr)
    return REAL(splice)(from, from_at, to, to_at, size, flags);
  return copy_data(from, from_at, to, to_at, size);
}

// Reserves the space; the host's file stays sparse.
int rank_posix_fallocate(int fd, off_t offset, off_t size) {
  if (open_file(fd) == nullptr) return REAL(posix_fallocate)(fd, offset, size);
  if (offset < 0 || size <= 0) return EINVAL;
  struct stat status;
  if (REAL(fstat)(fd, &status) != 0) return errno;
  if (offset + size <= status.st_size) return 0;
  const int error = errno;
  const int result = truncate_file("posix_fallocate", fd, offset + size) == 0 ? 0 : errno;
  errno = error;
  return result;
}

int rank_fallocate(int fd, int mode, off_t offset, off_t size) {
  if (open_file(fd) == nullptr) return REAL(fallocate)(fd, mode, offset, size);
  if (mode != 0) return REAL(fallocate)(fd, mode, offset, size);
  const int error = rank_posix_fallocate(fd, offset, size);
  if (error != 0) errno = error;
  return error == 0 ? 0 : -1;
}

void* rank_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  void* const place = REAL(mmap)(address, size, protection, flags, fd, offset);
  if (place == MAP_FAILED || (flags & MAP_ANONYMOUS) != 0 || open_file(fd) == nullptr) return place;
  std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return place;
  Mapping replaced;  // by MAP_FIXED
  if ((flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) != 0) {
    const TableLock lock;
    replaced = std::exchange((*g_mappings)[reinterpret_cast<uintptr_t>(place)],
                             {open, size, static_cast<uint64_t>(offset)});
  }
  FileOperation operation("mmap");
  const uint64_t bytes = bytes_mapped(fd, size, offset);
  if (bytes > 0)
    operation.charge_access(*open, Direction::kRead, static_cast<uint64_t>(offset), bytes);
  drop_open_file(std::move(replaced.open));
  drop_open_file(std::move(open));
  operation.result(0);
  return place;
}

int rank_msync(void* address, size_t size, int flags) {
  const int status = REAL(msync)(address, size, flags);
  if (status == 0 && current() != nullptr && !g_mappings->empty())
    write_back("msync", address, size, false);
  return status;
}

int rank_munmap(void* address, size_t size) {
  const int status = REAL(munmap)(address, size);
  if (status == 0 && current() != nullptr && !g_mappings->empty())
    write_back("munmap", address, size, true);
  return status;
}

}  // extern "C"

void bind_file_copies(BindingTable& table) {
  BIND(table, sendfile);
  BIND_AS(table, "sendfile64", sendfile);
  BIND(table, copy_file_range);
  BIND(table, splice);
  BIND(table, posix_fallocate);
  BIND_AS(table, "posix_fallocate64", posix_fallocate);
  BIND(table, fallocate);
  BIND_AS(table, "fallocate64", fallocate);
  BIND(table, mmap);
  BIND_AS(table, "mmap64", mmap);
  BIND(table, msync);
  BIND(table, munmap);
}

}  // namespace sesame::loader
