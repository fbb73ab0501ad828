// Calls that open, close and duplicate descriptors.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

PathIntent intent_of(int flags) {
  const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  const bool follows =
      (flags & O_NOFOLLOW) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
  if (changes) return PathIntent::kWrite;
  return follows ? PathIntent::kRead : PathIntent::kReadLink;
}

// Fills in a name for a temporary file. Names are the same in every run.
void fill_in(char* place, const RankProcess& process, uint64_t attempt) {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  uint64_t number = attempt * 1'000'003 + static_cast<uint64_t>(process.rank);
  for (int i = 0; i < 6; ++i, number /= 62) place[i] = kLetters[number % 62];
}

int share_file(int from, int to) {
  if (to < 0) return to;
  Descriptor shared;
  {
    const TableLock lock;
    const auto index = static_cast<size_t>(from);
    if (index < g_descriptors->size()) shared = (*g_descriptors)[index];
  }
  set_descriptor(to, std::move(shared));
  return to;
}

// Replaces XXXXXX by names until `make` finds one that does not exist.
template <typename Make>
int with_fresh_name(char* path, int suffix, const Make& make) {
  const size_t length = strlen(path);
  const size_t tail = static_cast<size_t>(suffix) + 6;
  if (suffix < 0 || length < tail || strncmp(path + length - tail, "XXXXXX", 6) != 0) {
    errno = EINVAL;
    return -1;
  }
  RankProcess& process = *current();
  const int error = errno;
  for (int i = 0; i < 10'000; ++i) {
    fill_in(path + length - tail, process, ++process.temporary_names);
    const int result = make();
    if (result < 0 && errno == EEXIST) continue;
    if (result >= 0) errno = error;
    return result;
  }
  return -1;
}

}  // namespace

int make_temporary(const char* call, char* path, int suffix, int flags) {
  return with_fresh_name(path, suffix, [&] {
    return open_path(call, AT_FDCWD, path, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
  });
}

int open_path(const char* call, int directory, const char* path, int flags, mode_t mode) {
  PathOperation operation(call, directory, path, intent_of(flags));
  if (!operation.is_simulated())
    return REAL(openat)(operation.host_directory(), operation.host_path(), flags, mode);
  if (operation.error() != 0) return operation.fail(operation.error());
  operation.asked_for(static_cast<uint64_t>(flags));
  const ResolvedPath& found = operation.path();
  struct stat before;
  const bool existed = REAL(lstat)(found.host_path.c_str(), &before) == 0;
  const int fd = REAL(open)(found.host_path.c_str(), flags & ~O_DIRECT, mode);
  if (fd < 0) {
    operation.charge_metadata(MetadataCall::kStat);
    return operation.result(fd);
  }
  auto file = std::make_shared<OpenFile>(&mounts(), found);
  if (existed && S_ISREG(before.st_mode) && (flags & O_TRUNC) != 0) file->truncated();
  set_descriptor(fd, {std::move(file), current()->rank});
  operation.charge_metadata(existed ? MetadataCall::kOpen : MetadataCall::kCreate);
  return operation.result(fd);
}

int close_descriptor(int fd) {
  std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation("close");
  if (!is_still(fd, *open)) return operation.fail(EBADF);  // another thread was faster
  set_descriptor(fd, {});
  const int status = REAL(close)(fd);
  operation.charge_metadata(open->path(), MetadataCall::kClose);
  drop_open_file(std::move(open));
  return operation.result(status);
}

void close_files(const RankProcess& process) {
  for (size_t fd = 0; fd < g_descriptors->size(); ++fd) {
    const Descriptor& descriptor = (*g_descriptors)[fd];
    if (descriptor.file == nullptr || descriptor.rank != process.rank) continue;
    REAL(close)(static_cast<int>(fd));
    set_descriptor(static_cast<int>(fd), {});
  }
}

extern "C" {

int rank_open(const char* path, int flags, mode_t mode) {
  if (!SERVES_RANK()) return REAL(open)(path, flags, mode);
  return open_path("open", AT_FDCWD, path, flags, mode);
}
GLOBAL_NAME(open);
int rank_open64(const char* path, int flags, mode_t mode) {
  if (!SERVES_RANK()) return REAL(open)(path, flags | O_LARGEFILE, mode);
  return open_path("open", AT_FDCWD, path, flags, mode);
}
GLOBAL_NAME(open64);
int rank_openat(int directory, const char* path, int flags, mode_t mode) {
  if (!SERVES_RANK()) return REAL(openat)(directory, path, flags, mode);
  return open_path("openat", directory, path, flags, mode);
}
GLOBAL_NAME(openat);
int rank_openat64(int directory, const char* path, int flags, mode_t mode) {
  if (!SERVES_RANK()) return REAL(openat)(directory, path, flags | O_LARGEFILE, mode);
  return open_path("openat", directory, path, flags, mode);
}
GLOBAL_NAME(openat64);

int rank_creat(const char* path, mode_t mode) {
  constexpr int kFlags = O_CREAT | O_WRONLY | O_TRUNC;
  if (!SERVES_RANK()) return REAL(open)(path, kFlags, mode);
  return open_path("creat", AT_FDCWD, path, kFlags, mode);
}

int rank_mkstemp(char* path) {
  return SERVES_RANK() ? make_temporary("mkstemp", path, 0, 0) : REAL(mkstemp)(path);
}
int rank_mkostemp(char* path, int flags) {
  return SERVES_RANK() ? make_temporary("mkostemp", path, 0, flags) : REAL(mkostemp)(path, flags);
}
char* rank_mkdtemp(char* path) {
  if (!SERVES_RANK()) return REAL(mkdtemp)(path);
  const int status =
      with_fresh_name(path, 0, [&] { return make_directory("mkdtemp", AT_FDCWD, path, 0700); });
  return status == 0 ? path : nullptr;
}
int rank_mkstemps(char* path, int suffix) {
  return SERVES_RANK() ? make_temporary("mkstemps", path, suffix, 0) : REAL(mkstemps)(path, suffix);
}
int rank_mkostemps(char* path, int suffix, int flags) {
  return SERVES_RANK() ? make_temporary("mkostemps", path, suffix, flags)
                       : REAL(mkostemps)(path, suffix, flags);
}

int rank_dup(int fd) {
  return open_file(fd) == nullptr ? REAL(dup)(fd) : share_file(fd, REAL(dup)(fd));
}
int rank_dup2(int from, int to) {
  if (open_file(from) == nullptr && open_file(to) == nullptr) return REAL(dup2)(from, to);
  return from == to ? to : share_file(from, REAL(dup2)(from, to));
}
int rank_dup3(int from, int to, int flags) {
  if (open_file(from) == nullptr && open_file(to) == nullptr) return REAL(dup3)(from, to, flags);
  return share_file(from, REAL(dup3)(from, to, flags));
}

int rank_fcntl(int fd, int command, long argument) {
  const int result = REAL(fcntl)(fd, command, argument);
  const bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
  return copies && open_file(fd) != nullptr ? share_file(fd, result) : result;
}

}  // extern "C"

void bind_file_descriptors(BindingTable& table) {
  BIND(table, open);
  BIND(table, open64);
  BIND_AS(table, "__open", open);
  BIND_AS(table, "__open64", open64);
  BIND_AS(table, "__open_2", open);
  BIND_AS(table, "__open64_2", open64);
  BIND(table, openat);
  BIND(table, openat64);
  BIND_AS(table, "__openat_2", openat);
  BIND_AS(table, "__openat64_2", openat64);
  BIND(table, creat);
  BIND_AS(table, "creat64", creat);
  BIND(table, mkstemp);
  BIND_AS(table, "mkstemp64", mkstemp);
  BIND(table, mkostemp);
  BIND_AS(table, "mkostemp64", mkostemp);
  BIND(table, mkdtemp);
  BIND(table, mkstemps);
  BIND_AS(table, "mkstemps64", mkstemps);
  BIND(table, mkostemps);
  BIND_AS(table, "mkostemps64", mkostemps);
  BIND(table, dup);
  BIND(table, dup2);
  BIND(table, dup3);
  BIND(table, fcntl);
  BIND_AS(table, "fcntl64", fcntl);
  BIND_AS(table, "__fcntl", fcntl);
}

}  // namespace sesame::loader
