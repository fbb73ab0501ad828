// Calls about modes, owners, times and kinds of files by name.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

PathIntent change_of(int flags) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? PathIntent::kUnlink : PathIntent::kWrite;
}

int set_mode(const char* call, int directory, const char* path, mode_t mode, int flags) {
  return with_path(call, directory, path, change_of(flags),
                   [=](int d, const char* p) { return REAL(fchmodat)(d, p, mode, flags); });
}

int set_owner(const char* call, int directory, const char* path, uid_t user, gid_t group,
              int flags) {
  return with_path(call, directory, path, change_of(flags),
                   [=](int d, const char* p) { return REAL(fchownat)(d, p, user, group, flags); });
}

int set_times(const char* call, int directory, const char* path, const timespec* times, int flags) {
  return with_path(call, directory, path, change_of(flags),
                   [=](int d, const char* p) { return REAL(utimensat)(d, p, times, flags); });
}

int set_times_us(const char* call, int directory, const char* path, const timeval* times,
                 int flags) {
  if (times == nullptr) return set_times(call, directory, path, nullptr, flags);
  const timespec exact[2] = {{times[0].tv_sec, times[0].tv_usec * 1000},
                             {times[1].tv_sec, times[1].tv_usec * 1000}};
  return set_times(call, directory, path, exact, flags);
}

}  // namespace

extern "C" {

int rank_chmod(const char* path, mode_t mode) {
  return SERVES_RANK() ? set_mode("chmod", AT_FDCWD, path, mode, 0) : REAL(chmod)(path, mode);
}
GLOBAL_NAME(chmod);
int rank_fchmodat(int directory, const char* path, mode_t mode, int flags) {
  return SERVES_RANK() ? set_mode("fchmodat", directory, path, mode, flags)
                       : REAL(fchmodat)(directory, path, mode, flags);
}
GLOBAL_NAME(fchmodat);

int rank_chown(const char* path, uid_t user, gid_t group) {
  return SERVES_RANK() ? set_owner("chown", AT_FDCWD, path, user, group, 0)
                       : REAL(chown)(path, user, group);
}
int rank_lchown(const char* path, uid_t user, gid_t group) {
  return SERVES_RANK() ? set_owner("lchown", AT_FDCWD, path, user, group, AT_SYMLINK_NOFOLLOW)
                       : REAL(lchown)(path, user, group);
}
int rank_fchownat(int directory, const char* path, uid_t user, gid_t group, int flags) {
  return SERVES_RANK() ? set_owner("fchownat", directory, path, user, group, flags)
                       : REAL(fchownat)(directory, path, user, group, flags);
}

int rank_utimensat(int directory, const char* path, const timespec times[2], int flags) {
  if (!SERVES_RANK() || path == nullptr) return REAL(utimensat)(directory, path, times, flags);
  return set_times("utimensat", directory, path, times, flags);
}
GLOBAL_NAME(utimensat);
int rank_utimes(const char* path, const timeval times[2]) {
  if (!SERVES_RANK()) return REAL(utimes)(path, times);
  return set_times_us("utimes", AT_FDCWD, path, times, 0);
}
int rank_lutimes(const char* path, const timeval times[2]) {
  if (!SERVES_RANK()) return REAL(lutimes)(path, times);
  return set_times_us("lutimes", AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}
int rank_futimesat(int directory, const char* path, const timeval times[2]) {
  if (!SERVES_RANK() || path == nullptr) return REAL(futimesat)(directory, path, times);
  return set_times_us("futimesat", directory, path, times, 0);
}
int rank_utime(const char* path, const utimbuf* times) {
  if (!SERVES_RANK()) return REAL(utime)(path, times);
  if (times == nullptr) return set_times("utime", AT_FDCWD, path, nullptr, 0);
  const timespec exact[2] = {{times->actime, 0}, {times->modtime, 0}};
  return set_times("utime", AT_FDCWD, path, exact, 0);
}

// Capacity and use are those of the host file system that holds the backing store.
int rank_statfs(const char* path, struct statfs* result) {
  if (!SERVES_RANK()) return REAL(statfs)(path, result);
  return with_path("statfs", AT_FDCWD, path, PathIntent::kRead,
                   [=](int, const char* p) { return REAL(statfs)(p, result); });
}
int rank_statvfs(const char* path, struct statvfs* result) {
  if (!SERVES_RANK()) return REAL(statvfs)(path, result);
  return with_path("statvfs", AT_FDCWD, path, PathIntent::kRead,
                   [=](int, const char* p) { return REAL(statvfs)(p, result); });
}
GLOBAL_NAME(statvfs);

}  // extern "C"

void bind_file_attributes(BindingTable& table) {
  BIND(table, chmod);
  BIND(table, fchmodat);
  BIND(table, chown);
  BIND(table, lchown);
  BIND(table, fchownat);
  BIND(table, utimensat);
  BIND(table, utimes);
  BIND(table, lutimes);
  BIND(table, futimesat);
  BIND(table, utime);
  BIND(table, statfs);
  BIND_AS(table, "statfs64", statfs);
  BIND(table, statvfs);
  BIND_AS(table, "statvfs64", statvfs);
}

}  // namespace sesame::loader
