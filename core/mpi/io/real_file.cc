#include "core/mpi/io/real_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {
namespace {

// Which descriptors are open, by path and by whether they can write. Never destroyed: files may be
// closed while the process ends.
using OpenFiles = std::map<std::pair<std::string, bool>, std::weak_ptr<RealFile>>;
OpenFiles& open_files() {
  static auto* const files = new OpenFiles;
  return *files;
}

bool stat_path(const std::string& path, struct stat* result) {
  return syscall(SYS_newfstatat, AT_FDCWD, path.c_str(), result, 0) == 0;
}

int stat_descriptor(int descriptor, struct stat* result) {
  return syscall(SYS_fstat, descriptor, result) == 0 ? 0 : errno;
}

int open_descriptor(const std::string& path, OpenFlags flags) {
  int how = (flags.writes ? O_RDWR : O_RDONLY) | O_CLOEXEC;
  if (flags.create) how |= O_CREAT;
  if (flags.exclusive) how |= O_EXCL;
  int descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), how, 0666));
  if (descriptor < 0 && errno == EACCES && flags.writes) {
    how = (how & ~O_ACCMODE) | O_WRONLY;
    descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), how, 0666));
  }
  return descriptor;
}

}  // namespace

RealFile::RealFile(int descriptor, std::string path, bool writes)
    : descriptor_(descriptor), path_(std::move(path)), writes_(writes) {}

RealFile::~RealFile() {
  syscall(SYS_close, descriptor_);
  // The entry may be another file's by now: one that was made by the same name.
  const auto known = open_files().find({path_, writes_});
  if (known != open_files().end() && known->second.expired()) open_files().erase(known);
}

// A file may have been removed, and another made by its name.
bool RealFile::is_same_as(const RealFile& other) const {
  struct stat mine;
  struct stat theirs;
  return stat_descriptor(descriptor_, &mine) == 0 &&
         stat_descriptor(other.descriptor_, &theirs) == 0 && mine.st_dev == theirs.st_dev &&
         mine.st_ino == theirs.st_ino;
}

int RealFile::size(uint64_t* bytes) const {
  struct stat found;
  if (const int error = stat_descriptor(descriptor_, &found); error != 0) return error;
  *bytes = static_cast<uint64_t>(found.st_size);
  return 0;
}

int RealFile::resize(uint64_t bytes) const {
  return syscall(SYS_ftruncate, descriptor_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int RealFile::read(std::byte* data, uint64_t bytes, uint64_t offset, uint64_t* done) const {
  for (*done = 0; *done < bytes;) {
    const long got = syscall(SYS_pread64, descriptor_, data + *done, bytes - *done,
                             static_cast<off_t>(offset + *done));
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) *done += static_cast<uint64_t>(got);
  }
  return 0;
}

int RealFile::write(const std::byte* data, uint64_t bytes, uint64_t offset) const {
  for (uint64_t done = 0; done < bytes;) {
    const long put = syscall(SYS_pwrite64, descriptor_, data + done, bytes - done,
                             static_cast<off_t>(offset + done));
    if (put < 0 && errno != EINTR) return errno;
    if (put > 0) done += static_cast<uint64_t>(put);
  }
  return 0;
}

bool real_file_exists(const std::string& path) {
  struct stat found;
  return stat_path(path, &found);
}

int open_real_file(const std::string& path, OpenFlags flags, std::shared_ptr<RealFile>* file) {
  const bool exists = real_file_exists(path);
  if (exists && flags.create && flags.exclusive) return EEXIST;
  // Whether it may be opened is asked each time; one descriptor is enough to use it.
  const int descriptor = open_descriptor(path, flags);
  if (descriptor < 0) return errno;
  auto opened = std::make_shared<RealFile>(descriptor, path, flags.writes);
  std::weak_ptr<RealFile>& known = open_files()[{path, flags.writes}];
  *file = known.lock();
  if (*file == nullptr || !(*file)->is_same_as(*opened)) known = *file = std::move(opened);
  return 0;
}

size_t count_of_real_files() { return open_files().size(); }

int remove_real_file(const std::string& path) {
  return syscall(SYS_unlinkat, AT_FDCWD, path.c_str(), 0) == 0 ? 0 : errno;
}

int file_error_class(int error) {
  switch (error) {
    case 0:
      return MPI_SUCCESS;
    case ENOENT:
    case ENOTDIR:
      return MPI_ERR_NO_SUCH_FILE;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
    case EFBIG:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
      return MPI_ERR_BAD_FILE;
    default:
      return MPI_ERR_IO;
  }
}

}  // namespace sesame::mpi
