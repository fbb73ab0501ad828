// Calls on names of files: stat, create, remove, rename, link.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <cstring>
#include <utility>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {

int stat_path(const char* call, int directory, const char* path, struct stat* result, int flags) {
  if (path == nullptr) return REAL(fstatat)(directory, path, result, flags);
  if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0 && open_file(directory) != nullptr)
    return describe_file(directory, result);
  const bool follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  PathOperation operation(call, directory, path,
                          follows ? PathIntent::kRead : PathIntent::kReadLink);
  if (!operation.is_simulated())
    return REAL(fstatat)(operation.host_directory(), operation.host_path(), result, flags);
  if (operation.error() != 0) return operation.fail(operation.error());
  const int status = REAL(lstat)(operation.real_path(), result);
  if (status == 0) result->st_blksize = static_cast<blksize_t>(operation.path().block);
  operation.charge_metadata(MetadataCall::kStat);
  return operation.result(status);
}

namespace {

constexpr int kAnyKind = -1;  // as flags of remove_path(): a file or a directory

bool exists(const ResolvedPath& path) {
  struct stat status;
  return REAL(lstat)(path.host_path.c_str(), &status) == 0;
}

bool is_directory(const ResolvedPath& path) {
  struct stat status;
  return REAL(lstat)(path.host_path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void forget_name(const ResolvedPath& path) {
  const HostScope host;
  mounts().removed(path);
}

std::vector<std::string> names_in(const ResolvedPath& path) {
  const HostScope host;
  return mounts().list(path);
}

int make_name(const char* call, int directory, const char* path,
              int (*make)(int, const char*, const void*), const void* argument) {
  PathOperation operation(call, directory, path, PathIntent::kUnlink);
  if (!operation.is_simulated())
    return make(operation.host_directory(), operation.host_path(), argument);
  if (operation.error() != 0) return operation.fail(operation.error());
  if (operation.path().is_original) return operation.fail_lookup(EEXIST);
  const int status = make(AT_FDCWD, operation.real_path(), argument);
  operation.charge_metadata(status == 0 ? MetadataCall::kCreate : MetadataCall::kStat);
  return operation.result(status);
}

int copy_originals(const ResolvedPath& path, bool* copied) {
  const HostScope host;
  return mounts().copy_originals(path, copied);
}

// 0 if a rename may replace the target, else an errno value. Prepares an exchange.
int refuse_to_replace(const ResolvedPath& source, const ResolvedPath& target, unsigned flags,
                      bool* copied) {
  if (!exists(target)) return 0;
  if ((flags & RENAME_NOREPLACE) != 0) return EEXIST;
  if ((flags & RENAME_EXCHANGE) != 0) return copy_originals(target, copied);
  if (is_directory(source) != is_directory(target)) return is_directory(source) ? ENOTDIR : EISDIR;
  return is_directory(target) && !names_in(target).empty() ? ENOTEMPTY : 0;
}

constexpr int kDoesNothing = -1;

// 0 if the rename may be done, kDoesNothing, or an errno value. Copies what it moves of originals.
int prepare_rename(const ResolvedPath& source, const ResolvedPath& target, unsigned flags,
                   bool* copied) {
  if (target.error != 0) return target.error;
  if (!exists(source)) return ENOENT;
  if (source.name == target.name) return kDoesNothing;
  // Two names of one file: rename() does nothing (POSIX.1-2024).
  if (exists(target) && source.file == target.file && !is_directory(source)) return kDoesNothing;
  const int error = refuse_to_replace(source, target, flags, copied);
  return error != 0 ? error : copy_originals(source, copied);
}

// Fails a call whose first or second name is not on a simulated file system.
int fail_names(PathOperation& operation, int error) {
  if (operation.is_simulated()) return operation.fail(error);
  errno = error;
  return -1;
}

// The second path of a call, which can be used only if the first one is simulated.
ResolvedPath find_target(const PathOperation& operation, int directory, const char* path) {
  return operation.is_simulated() ? locate(directory, path, PathIntent::kUnlink)
                                  : resolve(directory, path, false);
}

int rename_path(const char* call, int from_directory, const char* from, int to_directory,
                const char* to, unsigned flags) {
  PathOperation operation(call, from_directory, from, PathIntent::kUnlink);
  ResolvedPath source = operation.path();
  ResolvedPath target = find_target(operation, to_directory, to);
  if (target.error == EBADF) return fail_names(operation, EBADF);
  if (!operation.is_simulated() && !target.is_simulated())
    return REAL(renameat2)(operation.host_directory(), operation.host_path(), AT_FDCWD,
                           target.host_path.c_str(), flags);
  if (!operation.is_simulated() || source.system != target.system)
    return fail_names(operation, EXDEV);
  if (target.error != 0) return operation.fail(target.error);
  bool copied = false;
  int error = prepare_rename(source, target, flags, &copied);
  while (error == 0 && std::exchange(copied, false) && !is_forked()) {
    file_hooks()->await_turn();  // other workers open the copies before their names change
    source = locate(from_directory, from, PathIntent::kUnlink);
    target = locate(to_directory, to, PathIntent::kUnlink);
    error = prepare_rename(source, target, flags, &copied);
  }
  if (error == kDoesNothing) return operation.result(0);
  if (error != 0) return operation.fail_lookup(error);
  const bool exchanges = (flags & RENAME_EXCHANGE) != 0;
  const bool replaces = exists(target) && !exchanges;
  const int status =
      REAL(renameat2)(AT_FDCWD, source.backing.c_str(), AT_FDCWD, target.backing.c_str(), flags);
  if (status == 0) {
    if (replaces) forget_name(target);
    const HostScope host;
    exchanges ? mounts().exchanged(source, target) : mounts().renamed(source, target);
  }
  operation.charge_metadata(MetadataCall::kRemove);
  return operation.result(status);
}

int link_path(const char* call, int from_directory, const char* from, int to_directory,
              const char* to, int flags) {
  const PathIntent intent =
      (flags & AT_SYMLINK_FOLLOW) != 0 ? PathIntent::kWrite : PathIntent::kUnlink;
  PathOperation operation(call, from_directory, from, intent);
  const ResolvedPath target = find_target(operation, to_directory, to);
  if (target.error == EBADF) return fail_names(operation, EBADF);
  if (!operation.is_simulated() && !target.is_simulated())
    return REAL(linkat)(operation.host_directory(), operation.host_path(), AT_FDCWD,
                        target.host_path.c_str(), flags);
  if (!operation.is_simulated() || operation.path().system != target.system)
    return fail_names(operation, EXDEV);
  if (exists(target)) return operation.fail_lookup(EEXIST);
  if (is_directory(operation.path())) return operation.fail_lookup(EPERM);
  bool copied = false;
  if (const int error = copy_originals(operation.path(), &copied); error != 0)
    return operation.fail_lookup(error);
  const int status = REAL(link)(operation.path().backing.c_str(), target.backing.c_str());
  if (status == 0) {
    const HostScope host;
    mounts().linked(operation.path(), target);
  }
  operation.charge_metadata(MetadataCall::kCreate);
  return operation.result(status);
}

int describe_path_extended(int directory, const char* path, int flags, unsigned mask,
                           struct statx* result) {
  if (path == nullptr) return REAL(statx)(directory, path, flags, mask, result);  // a probe
  const bool follows = (flags & AT_SYMLINK_NOFOLLOW) == 0;
  if (path[0] == '\0' && open_file(directory) != nullptr)
    return REAL(statx)(directory, path, flags, mask, result);
  PathOperation operation("statx", directory, path,
                          follows ? PathIntent::kRead : PathIntent::kReadLink);
  if (!operation.is_simulated())
    return REAL(statx)(operation.host_directory(), operation.host_path(), flags, mask, result);
  if (operation.error() != 0) return operation.fail(operation.error());
  const int status = REAL(statx)(AT_FDCWD, operation.real_path(), flags, mask, result);
  if (status == 0) result->stx_blksize = static_cast<uint32_t>(operation.path().block);
  operation.charge_metadata(MetadataCall::kStat);
  return operation.result(status);
}

int truncate_path(const char* path, off_t size) {
  const int fd = open_path("truncate", AT_FDCWD, path, O_WRONLY, 0);
  if (fd < 0) return -1;
  const int status =
      open_file(fd) != nullptr ? truncate_file("truncate", fd, size) : REAL(ftruncate)(fd, size);
  const int error = errno;
  set_descriptor(fd, {});
  REAL(close)(fd);
  errno = error;
  return status;
}

}  // namespace

ssize_t read_link(const char* call, int directory, const char* path, char* buffer, size_t size) {
  PathOperation operation(call, directory, path, PathIntent::kReadLink);
  if (!operation.is_simulated())
    return REAL(readlinkat)(operation.host_directory(), operation.host_path(), buffer, size);
  if (operation.error() != 0) return operation.fail(operation.error());
  const ssize_t length = REAL(readlink)(operation.real_path(), buffer, size);
  operation.charge_metadata(MetadataCall::kStat);
  return operation.result(length);
}

char* real_path(const char* path, char* resolved) {
  PathOperation operation("realpath", AT_FDCWD, path, PathIntent::kRead);
  if (!operation.is_simulated()) return REAL(realpath)(operation.host_path(), resolved);
  int error = operation.error();
  if (error == 0 && !exists(operation.path())) error = ENOENT;
  operation.charge_metadata(MetadataCall::kStat);
  if (error != 0) {
    operation.fail(error);
    return nullptr;
  }
  const char* name = operation.path().name.c_str();
  return resolved == nullptr ? strdup(name) : strcpy(resolved, name);
}

int describe_file(int fd, struct stat* result) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail(EBADF);
  FileOperation operation("fstat");
  const int status = REAL(fstat)(fd, result);
  if (status == 0) result->st_blksize = static_cast<blksize_t>(open->path().block);
  operation.charge_metadata(open->path(), MetadataCall::kStat);
  return operation.result(status);
}

int make_directory(const char* call, int directory, const char* path, mode_t mode) {
  return make_name(
      call, directory, path,
      [](int d, const char* p, const void* m) {
        return REAL(mkdirat)(d, p, *static_cast<const mode_t*>(m));
      },
      &mode);
}

int remove_path(const char* call, int directory, const char* path, int flags) {
  PathOperation operation(call, directory, path, PathIntent::kUnlink);
  if (flags == kAnyKind) flags = is_directory(operation.path()) ? AT_REMOVEDIR : 0;
  if (!operation.is_simulated())
    return REAL(unlinkat)(operation.host_directory(), operation.host_path(), flags);
  if (operation.error() != 0) return operation.fail(operation.error());
  const ResolvedPath& found = operation.path();
  if (!exists(found)) return operation.fail_lookup(ENOENT);
  const bool wants_directory = (flags & AT_REMOVEDIR) != 0;
  if (is_directory(found) != wants_directory)
    return operation.fail_lookup(wants_directory ? ENOTDIR : EISDIR);
  if (wants_directory && !names_in(found).empty()) return operation.fail_lookup(ENOTEMPTY);
  const int status =
      found.is_original ? 0 : REAL(unlinkat)(AT_FDCWD, found.host_path.c_str(), flags);
  if (status == 0) forget_name(found);
  operation.charge_metadata(MetadataCall::kRemove);
  return operation.result(status);
}

extern "C" {

int rank_stat(const char* path, struct stat* result) {
  if (!SERVES_RANK()) return REAL(stat)(path, result);
  return stat_path("stat", AT_FDCWD, path, result, 0);
}
GLOBAL_NAME(stat);
GLOBAL_NAME_AS(stat64, stat);
int rank_lstat(const char* path, struct stat* result) {
  if (!SERVES_RANK()) return REAL(lstat)(path, result);
  return stat_path("lstat", AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}
GLOBAL_NAME(lstat);
GLOBAL_NAME_AS(lstat64, lstat);
int rank_fstatat(int directory, const char* path, struct stat* result, int flags) {
  if (!SERVES_RANK()) return REAL(fstatat)(directory, path, result, flags);
  return stat_path("fstatat", directory, path, result, flags);
}
GLOBAL_NAME(fstatat);
GLOBAL_NAME_AS(fstatat64, fstatat);
int rank___xstat(int, const char* path, struct stat* result) {
  if (!SERVES_RANK()) return REAL(stat)(path, result);
  return stat_path("stat", AT_FDCWD, path, result, 0);
}
int rank___lxstat(int, const char* path, struct stat* result) {
  if (!SERVES_RANK()) return REAL(lstat)(path, result);
  return stat_path("lstat", AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}
int rank___fxstatat(int, int directory, const char* path, struct stat* result, int flags) {
  if (!SERVES_RANK()) return REAL(fstatat)(directory, path, result, flags);
  return stat_path("fstatat", directory, path, result, flags);
}
int rank_statx(int directory, const char* path, int flags, unsigned mask, struct statx* result) {
  if (!SERVES_RANK()) return REAL(statx)(directory, path, flags, mask, result);
  return describe_path_extended(directory, path, flags, mask, result);
}
GLOBAL_NAME(statx);

int rank_access(const char* path, int mode) {
  if (!SERVES_RANK()) return REAL(access)(path, mode);
  return with_path(
      "access", AT_FDCWD, path, PathIntent::kRead,
      [mode](int directory, const char* p) { return REAL(faccessat)(directory, p, mode, 0); });
}
GLOBAL_NAME(access);
int rank_eaccess(const char* path, int mode) {
  if (!SERVES_RANK()) return REAL(eaccess)(path, mode);
  return with_path("eaccess", AT_FDCWD, path, PathIntent::kRead,
                   [mode](int directory, const char* p) {
                     return REAL(faccessat)(directory, p, mode, AT_EACCESS);
                   });
}
int rank_faccessat(int directory, const char* path, int mode, int flags) {
  if (!SERVES_RANK()) return REAL(faccessat)(directory, path, mode, flags);
  return with_path(
      "faccessat", directory, path, PathIntent::kRead,
      [mode, flags](int d, const char* p) { return REAL(faccessat)(d, p, mode, flags); });
}

int rank_unlink(const char* path) {
  return SERVES_RANK() ? remove_path("unlink", AT_FDCWD, path, 0) : REAL(unlink)(path);
}
GLOBAL_NAME(unlink);
int rank_rmdir(const char* path) {
  return SERVES_RANK() ? remove_path("rmdir", AT_FDCWD, path, AT_REMOVEDIR) : REAL(rmdir)(path);
}
GLOBAL_NAME(rmdir);
int rank_unlinkat(int directory, const char* path, int flags) {
  return SERVES_RANK() ? remove_path("unlinkat", directory, path, flags)
                       : REAL(unlinkat)(directory, path, flags);
}
GLOBAL_NAME(unlinkat);
int rank_remove(const char* path) {
  return SERVES_RANK() ? remove_path("remove", AT_FDCWD, path, kAnyKind) : REAL(remove)(path);
}
GLOBAL_NAME(remove);

int rank_rename(const char* from, const char* to) {
  return SERVES_RANK() ? rename_path("rename", AT_FDCWD, from, AT_FDCWD, to, 0)
                       : REAL(rename)(from, to);
}
GLOBAL_NAME(rename);
int rank_renameat(int from_directory, const char* from, int to_directory, const char* to) {
  return SERVES_RANK() ? rename_path("renameat", from_directory, from, to_directory, to, 0)
                       : REAL(renameat)(from_directory, from, to_directory, to);
}
int rank_renameat2(int from_directory, const char* from, int to_directory, const char* to,
                   unsigned flags) {
  return SERVES_RANK() ? rename_path("renameat2", from_directory, from, to_directory, to, flags)
                       : REAL(renameat2)(from_directory, from, to_directory, to, flags);
}

int rank_link(const char* from, const char* to) {
  return SERVES_RANK() ? link_path("link", AT_FDCWD, from, AT_FDCWD, to, 0) : REAL(link)(from, to);
}
GLOBAL_NAME(link);
int rank_linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) {
  return SERVES_RANK() ? link_path("linkat", from_directory, from, to_directory, to, flags)
                       : REAL(linkat)(from_directory, from, to_directory, to, flags);
}

int rank_symlinkat(const char* target, int directory, const char* path) {
  if (!SERVES_RANK()) return REAL(symlinkat)(target, directory, path);
  return make_name(
      "symlink", directory, path,
      [](int d, const char* p, const void* text) {
        return REAL(symlinkat)(static_cast<const char*>(text), d, p);
      },
      target);
}
int rank_symlink(const char* target, const char* path) {
  if (!SERVES_RANK()) return REAL(symlink)(target, path);
  return make_name(
      "symlink", AT_FDCWD, path,
      [](int d, const char* p, const void* text) {
        return REAL(symlinkat)(static_cast<const char*>(text), d, p);
      },
      target);
}
GLOBAL_NAME(symlink);

int rank_mkdirat(int directory, const char* path, mode_t mode) {
  if (!SERVES_RANK()) return REAL(mkdirat)(directory, path, mode);
  return make_directory("mkdirat", directory, path, mode);
}
int rank_mkdir(const char* path, mode_t mode) {
  if (!SERVES_RANK()) return REAL(mkdir)(path, mode);
  return make_directory("mkdir", AT_FDCWD, path, mode);
}
GLOBAL_NAME(mkdir);

int rank_truncate(const char* path, off_t size) {
  return SERVES_RANK() ? truncate_path(path, size) : REAL(truncate)(path, size);
}
GLOBAL_NAME(truncate);
GLOBAL_NAME_AS(truncate64, truncate);

}  // extern "C"

void bind_file_names(BindingTable& table) {
  BIND(table, stat);
  BIND_AS(table, "stat64", stat);
  BIND(table, lstat);
  BIND_AS(table, "lstat64", lstat);
  BIND(table, fstatat);
  BIND_AS(table, "fstatat64", fstatat);
  BIND(table, __xstat);
  BIND_AS(table, "__xstat64", __xstat);
  BIND(table, __lxstat);
  BIND_AS(table, "__lxstat64", __lxstat);
  BIND(table, __fxstatat);
  BIND_AS(table, "__fxstatat64", __fxstatat);
  BIND(table, statx);
  BIND(table, access);
  BIND(table, eaccess);
  BIND_AS(table, "euidaccess", eaccess);
  BIND(table, faccessat);
  BIND(table, unlink);
  BIND(table, rmdir);
  BIND(table, unlinkat);
  BIND(table, remove);
  BIND(table, rename);
  BIND(table, renameat);
  BIND(table, renameat2);
  BIND(table, link);
  BIND(table, linkat);
  BIND(table, symlink);
  BIND(table, symlinkat);
  BIND(table, mkdir);
  BIND(table, mkdirat);
  BIND(table, truncate);
  BIND_AS(table, "truncate64", truncate);
}

}  // namespace sesame::loader
