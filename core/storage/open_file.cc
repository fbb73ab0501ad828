#include "core/storage/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "core/storage/file_system.h"

namespace sesame::storage {
namespace {

// The open PositionalFiles, by the host file that they are stored in and by whether they can write.
// Never destroyed, because files may be closed while the process exits.
using Shared = std::map<std::pair<std::string, bool>, std::weak_ptr<PositionalFile>>;
Shared& shared_files() {
  static auto* const files = new Shared;
  return *files;
}

int stat_descriptor(int descriptor, struct stat* result) {
  return syscall(SYS_fstat, descriptor, result) == 0 ? 0 : errno;
}

int truncate_host_file(int descriptor, uint64_t bytes) {
  return syscall(SYS_ftruncate, descriptor, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int open_host_file(const std::string& path, OpenMode mode) {
  int flags = (mode.writes ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  if (mode.create) flags |= O_CREAT;
  if (mode.exclusive) flags |= O_EXCL;
  const auto open = [&path](int how) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), how, 0666));
  };
  const int descriptor = open(flags);
  const bool may_only_write = descriptor < 0 && errno == EACCES && mode.writes;
  return may_only_write ? open((flags & ~O_ACCMODE) | O_WRONLY) : descriptor;
}

int remove_host_file(const std::string& host_path) {
  return syscall(SYS_unlinkat, AT_FDCWD, host_path.c_str(), 0) == 0 ? 0 : errno;
}

// The error that remove_host_file() would return, without removing anything.
int check_file_name(const std::string& host_path) {
  struct stat found;
  if (syscall(SYS_newfstatat, AT_FDCWD, host_path.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
    return errno;
  return S_ISDIR(found.st_mode) ? EISDIR : 0;
}

// How many extents, from the first on, are contiguous; and the sum of their bytes.
size_t contiguous_run(std::span<const Extent> extents, uint64_t* bytes) {
  *bytes = extents[0].bytes;
  size_t count = 1;
  while (count < extents.size() &&
         (extents[count].bytes == 0 || extents[count].offset == extents[0].offset + *bytes)) {
    *bytes += extents[count++].bytes;
  }
  return count;
}

}  // namespace

const std::string& stored_in(const ResolvedPath& path) {
  return path.backing.empty() ? path.host_path : path.backing;
}

void drop_cached(const ResolvedPath& path, uint64_t begin, uint64_t end) {
  path.system->drop(path.file, path.node, begin, end);
}

uint64_t end_of(std::span<const Extent> extents) {
  uint64_t end = 0;
  for (const Extent& extent : extents)
    if (extent.bytes > 0) end = std::max(end, extent.offset + extent.bytes);
  return end;
}

int size_of(int descriptor, uint64_t* bytes) {
  struct stat found;
  if (const int error = stat_descriptor(descriptor, &found); error != 0) return error;
  *bytes = static_cast<uint64_t>(found.st_size);
  return 0;
}

bool host_file_exists(const std::string& host_path) {
  struct stat found;
  return syscall(SYS_newfstatat, AT_FDCWD, host_path.c_str(), &found, 0) == 0;
}

int remove_file(Mounts* mounts, const ResolvedPath& path) {
  const int error =
      path.is_original ? check_file_name(path.host_path) : remove_host_file(path.host_path);
  if (error == 0 && path.is_simulated()) mounts->removed(path);
  return error;
}

OpenFile::OpenFile(Mounts* mounts, ResolvedPath path)
    : mounts_(path.is_simulated() ? mounts : nullptr), path_(std::move(path)) {
  if (mounts_ == nullptr) return;
  uses_ = mounts_->uses();
  mounts_->opened(path_);
}

FileUse* OpenFile::use() const {
  const std::shared_ptr<FileUses> uses = uses_.lock();
  return uses == nullptr ? nullptr : &uses->at({path_.system, path_.file});
}

void OpenFile::set_copy(const std::string& copy) {
  path_.host_path = copy;
  path_.is_original = false;
}

OpenFile::~OpenFile() {
  if (!uses_.expired()) mounts_->closed(path_);
}

bool OpenFile::discards_data() const { return mounts_ != nullptr && mounts_->discards_data(); }

bool OpenFile::set_modelled_size(uint64_t bytes) const {
  return !path_.is_simulated() || path_.system->resize(path_.file, bytes);
}

int OpenFile::reserve(int descriptor, uint64_t end) const {
  uint64_t size = 0;
  if (const int error = size_of(descriptor, &size); error != 0) return error;
  if (end <= size) return 0;
  if (!set_modelled_size(end)) return ENOSPC;
  if (!discards_data()) return 0;
  const int error = truncate_host_file(descriptor, end);
  if (error != 0) write_failed(descriptor, error);
  return error;
}

void OpenFile::write_failed(int descriptor, int error) const {
  note_failure(error);
  uint64_t size = 0;
  if (size_of(descriptor, &size) == 0) set_modelled_size(size);
}

int OpenFile::resize(int descriptor, uint64_t bytes) const {
  uint64_t before = 0;
  if (const int error = size_of(descriptor, &before); error != 0) return error;
  if (!set_modelled_size(bytes)) return ENOSPC;
  const int error = truncate_host_file(descriptor, bytes);
  if (error != 0) set_modelled_size(before);
  return error;
}

void OpenFile::note_failure(int error) const {
  if (mounts_ != nullptr) mounts_->record_host_failure(path_.host_path, error);
}

void OpenFile::truncated() const { set_modelled_size(0); }

Access OpenFile::access(Direction direction, const Client& client,
                        std::span<const Extent> extents) const {
  Access access;
  access.direction = direction;
  access.file = path_.file;
  access.client = client;
  access.extents = extents;
  return access;
}

PositionalFile::PositionalFile(Mounts* mounts, const ResolvedPath& path, int descriptor,
                               bool writes)
    : OpenFile(mounts, path), descriptor_(descriptor), writes_(writes) {
  if (path.is_original) use()->original_readers.push_back(this);
}

PositionalFile::~PositionalFile() {
  if (FileUse* shared = use(); shared != nullptr && path().is_original)
    std::erase(shared->original_readers, static_cast<OriginalReader*>(this));
  syscall(SYS_close, descriptor_);
  // The entry may belong to a newer file of the same name by now.
  const auto known = shared_files().find({stored_in(path()), writes_});
  if (known != shared_files().end() && known->second.expired()) shared_files().erase(known);
}

void PositionalFile::follow_copy(const std::string& copy) {
  set_copy(copy);
  const int opened = open_host_file(copy, {});
  if (opened < 0 || syscall(SYS_dup3, opened, descriptor_, O_CLOEXEC) < 0) copy_error_ = errno;
  if (opened >= 0) syscall(SYS_close, opened);
}

// False if the file was removed and another one created by the same name.
bool PositionalFile::is_same_as(const PositionalFile& other) const {
  struct stat mine;
  struct stat theirs;
  return path().system == other.path().system && path().file == other.path().file &&
         stat_descriptor(descriptor_, &mine) == 0 &&
         stat_descriptor(other.descriptor_, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
}

int PositionalFile::open(Mounts* mounts, const ResolvedPath& path, OpenMode mode,
                         std::shared_ptr<PositionalFile>* file) {
  if (mode.create && mode.exclusive && host_file_exists(path.host_path)) return EEXIST;
  const int descriptor = open_host_file(path.host_path, mode);
  if (descriptor < 0) return errno;
  std::shared_ptr<PositionalFile> opened(new PositionalFile(mounts, path, descriptor, mode.writes));
  std::weak_ptr<PositionalFile>& known = shared_files()[{stored_in(path), mode.writes}];
  *file = known.lock();
  if (*file == nullptr || !(*file)->is_same_as(*opened)) known = *file = std::move(opened);
  return 0;
}

int PositionalFile::read_at(uint64_t offset, uint64_t bytes, std::byte* data,
                            uint64_t* done) const {
  *done = 0;
  if (copy_error_ != 0) return copy_error_;
  if (discards_data()) {
    uint64_t size = 0;
    if (const int error = size_of(descriptor_, &size); error != 0) return error;
    *done = offset >= size ? 0 : std::min(bytes, size - offset);
    std::fill_n(data, *done, std::byte{0});
    return 0;
  }
  for (*done = 0; *done < bytes;) {
    const long got = syscall(SYS_pread64, descriptor_, data + *done, bytes - *done,
                             static_cast<off_t>(offset + *done));
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) *done += static_cast<uint64_t>(got);
  }
  return 0;
}

int PositionalFile::write_at(uint64_t offset, uint64_t bytes, const std::byte* data) const {
  for (uint64_t done = 0; done < bytes;) {
    const long put = syscall(SYS_pwrite64, descriptor_, data + done, bytes - done,
                             static_cast<off_t>(offset + done));
    if (put == 0) return ENOSPC;
    if (put < 0 && errno != EINTR) return errno;
    if (put > 0) done += static_cast<uint64_t>(put);
  }
  return 0;
}

int PositionalFile::read(std::span<const Extent> extents, std::byte* data, uint64_t* moved) const {
  for (*moved = 0; !extents.empty();) {
    uint64_t bytes = 0;
    const size_t count = contiguous_run(extents, &bytes);
    uint64_t done = 0;
    if (const int error = read_at(extents[0].offset, bytes, data, &done); error != 0) {
      note_failure(error);
      return error;
    }
    *moved += done;
    if (done < bytes) break;
    data += bytes;
    extents = extents.subspan(count);
  }
  return 0;
}

int PositionalFile::write(std::span<const Extent> extents, const std::byte* data) const {
  if (!writes_) return EBADF;
  if (const int error = reserve(descriptor_, end_of(extents)); error != 0) return error;
  while (!discards_data() && !extents.empty()) {
    uint64_t bytes = 0;
    const size_t count = contiguous_run(extents, &bytes);
    if (const int error = write_at(extents[0].offset, bytes, data); error != 0) {
      write_failed(descriptor_, error);
      return error;
    }
    data += bytes;
    extents = extents.subspan(count);
  }
  return 0;
}

}  // namespace sesame::storage
