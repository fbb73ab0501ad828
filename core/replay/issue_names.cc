#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "core/replay/issue.h"

namespace sesame::replay {
namespace {

Outcome issue_on_two_names(const PlanOperation& operation, const IssueContext& context) {
  if (operation.other_file < 0) return {0, EINVAL};
  const char* from = context.plan->path(operation.file);
  const char* to = context.plan->path(operation.other_file);
  switch (operation.call) {
    case Call::rename:
      return outcome_of(rename(from, to));
    case Call::link:
      return outcome_of(link(from, to));
    default:
      return outcome_of(symlink(from, to));
  }
}

Outcome open_directory(const PlanOperation& operation, const IssueContext& context) {
  DIR* directory = opendir(context.plan->path(operation.file));
  if (directory == nullptr) return {0, errno};
  if (operation.slot < 0) {
    closedir(directory);
    return {};
  }
  OpenFile& file = (*context.files)[operation.slot];
  file.directory = directory;
  file.fd = dirfd(directory);
  return {};
}

Outcome open_directory_of(OpenFile& file) {
  DIR* directory = fdopendir(file.fd);
  if (directory == nullptr) return {0, errno};
  file.directory = directory;
  return {};
}

Outcome issue_on_directory(const PlanOperation& operation, const IssueContext& context) {
  if (operation.slot < 0) return {0, EBADF};
  OpenFile& file = (*context.files)[operation.slot];
  if (operation.call == Call::fdopendir) return open_directory_of(file);
  if (file.directory == nullptr) return {0, EBADF};
  if (operation.call == Call::closedir) {
    file.fd = -1;
    return outcome_of(closedir(std::exchange(file.directory, nullptr)));
  }
  errno = 0;
  return readdir(file.directory) == nullptr ? Outcome{0, errno} : Outcome{};
}

Outcome issue_on_name(const PlanOperation& operation, const char* path) {
  struct stat status {};
  struct statfs space {};
  char text[PATH_MAX];
  switch (operation.call) {
    case Call::stat:
      return outcome_of(stat(path, &status));
    case Call::lstat:
      return outcome_of(lstat(path, &status));
    case Call::access:
      return outcome_of(access(path, static_cast<int>(operation.size) & (R_OK | W_OK | X_OK)));
    case Call::unlink:  // also unlinkat and remove, which take directories
      return outcome_of(std::remove(path));
    case Call::readlink:
      return outcome_of(readlink(path, text, sizeof text));
    case Call::mkdir:
      return outcome_of(mkdir(path, 0755));
    case Call::rmdir:
      return outcome_of(rmdir(path));
    case Call::truncate:
      return outcome_of(truncate(path, std::max<int64_t>(operation.offset, 0)));
    case Call::chmod:
      return outcome_of(chmod(path, 0644));
    default:
      return outcome_of(statfs(path, &space));
  }
}

}  // namespace

Outcome issue_on_names(const PlanOperation& operation, const IssueContext& context) {
  if (operation.call >= Call::fdopendir) {
    return issue_on_directory(operation, context);
  }
  if (operation.file < 0) return {0, EINVAL};
  switch (operation.call) {
    case Call::opendir:
      return open_directory(operation, context);
    case Call::rename:
    case Call::link:
    case Call::symlink:
      return issue_on_two_names(operation, context);
    default:
      return issue_on_name(operation, context.plan->path(operation.file));
  }
}

}  // namespace sesame::replay
