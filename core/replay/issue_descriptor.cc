#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/replay/issue.h"

namespace sesame::replay {
namespace {

constexpr int64_t kPage = 4096;

Outcome open_file(const PlanOperation& operation, OpenFile& file, const IssueContext& context) {
  int flags = static_cast<int>(operation.size) | O_CLOEXEC;
  const bool regular = (context.plan->files[static_cast<size_t>(operation.file)].flags & 1) != 0;
  file.direct = context.plan->header().direct != 0 && regular && (flags & O_DIRECTORY) == 0;
  if (file.direct) flags |= O_DIRECT;
  const int fd = open(context.plan->path(operation.file), flags, 0644);
  if (fd >= 0) file.fd = fd;
  return outcome_of(fd);
}

Outcome close_file(OpenFile& file, const IssueContext& context) {
  {
    const std::lock_guard guard(context.files->lock);
    if (!file.copies.empty()) {
      const int copy = file.copies.back();
      file.copies.pop_back();
      return outcome_of(close(copy));
    }
  }
  // The recorded call closed a copy that fcntl() had made; closedir() will close the descriptor.
  if (file.directory != nullptr) return {};
  return outcome_of(close(std::exchange(file.fd, -1)));
}

Outcome duplicate(OpenFile& file, const IssueContext& context) {
  const int copy = dup(file.fd);
  if (copy < 0) return {0, errno};
  const std::lock_guard guard(context.files->lock);
  file.copies.push_back(copy);
  return {};
}

void unmap(OpenFile& file) {
  if (file.mapped != nullptr) munmap(file.mapped, static_cast<size_t>(file.mapped_size));
  file.mapped = nullptr;
}

int64_t whole_pages(int64_t size) { return (size + kPage - 1) / kPage * kPage; }

// Bytes of the mapping that can be accessed: to the end of the file's last page. If the file has
// been closed, its last known size counts.
int64_t bytes_in_reach(OpenFile& file) {
  struct stat status {};
  if (fstat(file.fd, &status) == 0) file.mapped_file_size = status.st_size;
  const int64_t in_file = whole_pages(file.mapped_file_size) - file.mapped_offset;
  return std::clamp<int64_t>(in_file, 0, whole_pages(file.mapped_size));
}

Outcome map(const PlanOperation& operation, OpenFile& file) {
  unmap(file);
  const int access =
      (fcntl(file.fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE;
  const int64_t offset = std::max<int64_t>(operation.offset, 0);
  void* at =
      mmap(nullptr, static_cast<size_t>(operation.size), access, MAP_SHARED, file.fd, offset);
  if (at == MAP_FAILED) return {0, errno};
  file.mapped = static_cast<char*>(at);
  file.mapped_size = operation.size;
  file.mapped_offset = offset;
  bytes_in_reach(file);
  return {};
}

// The recorded program reached these pages through memory.
Outcome touch(const PlanOperation& operation, OpenFile& file) {
  if (file.mapped == nullptr) return {0, EFAULT};
  const int64_t end =
      std::min(operation.offset - file.mapped_offset + operation.size, bytes_in_reach(file));
  int64_t at = std::max<int64_t>(operation.offset - file.mapped_offset, 0);
  const int64_t begin = at;
  for (; at < end; at += kPage) {
    auto* byte = reinterpret_cast<volatile char*>(file.mapped + at);
    const char value = *byte;
    if (operation.call == Call::touch_write) *byte = static_cast<char>(value + 1);
  }
  return {std::max<int64_t>(end - begin, 0), 0};
}

Outcome copy(const PlanOperation& operation, OpenFile& file, const IssueContext& context) {
  const auto size = static_cast<size_t>(operation.size);
  // To a pipe or a socket, which is not replayed: the data is read and dropped.
  if (operation.other_slot < 0) return outcome_of(read(file.fd, context.sink, size), true);
  const int to = (*context.files)[operation.other_slot].fd;
  const int64_t done = operation.call == Call::sendfile
                           ? sendfile(to, file.fd, nullptr, size)
                           : copy_file_range(file.fd, nullptr, to, nullptr, size, 0);
  return outcome_of(done, true);
}

Outcome sync_mapped(OpenFile& file) {
  if (file.mapped == nullptr) return {0, EFAULT};
  return outcome_of(msync(file.mapped, static_cast<size_t>(file.mapped_size), MS_SYNC));
}

Outcome seek(const PlanOperation& operation, int fd) {
  return outcome_of(lseek(fd, std::max<int64_t>(operation.offset, 0), SEEK_SET));
}

int advice_of(const PlanOperation& operation) {
  if ((operation.flags & kWillNeed) != 0) return POSIX_FADV_WILLNEED;
  return (operation.flags & kDontNeed) != 0 ? POSIX_FADV_DONTNEED : POSIX_FADV_NORMAL;
}

Outcome issue_plain(const PlanOperation& operation, int fd) {
  struct stat status {};
  const int64_t offset = std::max<int64_t>(operation.offset, 0);
  const int64_t size = operation.size;
  switch (operation.call) {
    case Call::lseek:
      return seek(operation, fd);
    case Call::fsync:
      return outcome_of(fsync(fd));
    case Call::fdatasync:
      return outcome_of(fdatasync(fd));
    case Call::syncfs:
      return outcome_of(syncfs(fd));
    case Call::sync_file_range:
      return outcome_of(sync_file_range(
          fd, offset, size,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    case Call::ftruncate:
      return outcome_of(ftruncate(fd, offset));
    case Call::fallocate:
      return outcome_of(fallocate(fd, 0, offset, size));
    case Call::posix_fallocate:
      return {0, posix_fallocate(fd, offset, size)};
    case Call::posix_fadvise:
      return {0, posix_fadvise(fd, offset, size, advice_of(operation))};
    case Call::readahead:
      return outcome_of(readahead(fd, offset, static_cast<size_t>(size)));
    case Call::fstat:
      return outcome_of(fstat(fd, &status));
    case Call::fchmod:
      return outcome_of(fchmod(fd, 0644));
    default:
      return outcome_of(flock(fd, LOCK_SH | LOCK_NB));
  }
}

}  // namespace

Outcome issue_on_descriptor(const PlanOperation& operation, const IssueContext& context) {
  if (operation.call == Call::sync) {
    sync();
    return {};
  }
  if (operation.slot < 0) return {0, EBADF};
  OpenFile& file = (*context.files)[operation.slot];
  switch (operation.call) {
    case Call::open:
      return open_file(operation, file, context);
    case Call::close:
      return close_file(file, context);
    case Call::dup:
      return duplicate(file, context);
    case Call::mmap:
      return map(operation, file);
    case Call::munmap:
      unmap(file);
      return {};
    case Call::msync:
      return sync_mapped(file);
    case Call::touch_read:
    case Call::touch_write:
      return touch(operation, file);
    case Call::copy_file_range:
    case Call::sendfile:
      return copy(operation, file, context);
    default:
      return issue_plain(operation, file.stream != nullptr ? fileno(file.stream) : file.fd);
  }
}

}  // namespace sesame::replay
