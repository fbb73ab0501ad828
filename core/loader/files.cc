#include "core/loader/files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/loader/real.h"

namespace sesame::loader {

constinit Undestroyed<std::vector<Descriptor>> g_descriptors;

namespace {

std::string path_of_descriptor(int fd) {
  if (const std::shared_ptr<OpenFile> open = keep_open(fd)) return open->path().name;
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = REAL(readlink)(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

}  // namespace

// Other ranks may see that its space is free.
void drop_open_file(std::shared_ptr<OpenFile> file) {
  const int error = errno;
  if (file.use_count() == 1 && !is_forked()) file_hooks()->await_turn();
  file.reset();
  errno = error;
}

void set_descriptor(int fd, Descriptor descriptor) {
  {
    const TableLock lock;
    const auto index = static_cast<size_t>(fd);
    if (index >= g_descriptors->size()) {
      if (descriptor.file == nullptr) return;
      g_descriptors->resize(index + 1);
    }
    std::swap((*g_descriptors)[index], descriptor);
  }
  if (descriptor.file != nullptr) drop_open_file(std::move(descriptor.file));
}

FileOperation::FileOperation(const char* call) {
  record_.name = call;
  if (!is_forked()) file_hooks()->begin(record_);
}
FileOperation::~FileOperation() {
  const int error = errno;
  if (failed_) record_.error = static_cast<uint16_t>(error);
  if (!is_forked()) file_hooks()->end(record_);
  errno = failed_ ? error : error_before_;
}

void FileOperation::charge_metadata(const ResolvedPath& path, MetadataCall call) {
  if (is_forked()) return;
  const int error = errno;
  record_.path = path.name;
  file_hooks()->charge_metadata(path, call);
  errno = error;
}

void FileOperation::charge_access(const OpenFile& file, Direction direction, uint64_t offset,
                                  uint64_t bytes) {
  if (is_forked()) return;
  const int error = errno;
  record_.path = file.path().name;
  record_.bytes += bytes;
  file_hooks()->charge_access(file, direction, {offset, bytes});
  errno = error;
}

void FileOperation::charge_flush(const OpenFile& file) {
  if (is_forked()) return;
  const int error = errno;
  record_.path = file.path().name;
  file_hooks()->charge_flush(file);
  errno = error;
}

void* FileOperation::start_access(const OpenFile& file, Direction direction, uint64_t offset,
                                  uint64_t bytes) {
  if (is_forked()) return nullptr;
  record_.path = file.path().name;
  record_.bytes = bytes;
  record_.flags |= SESAME_FILE_CALL_ASYNCHRONOUS;
  return file_hooks()->start_access(file, direction, {offset, bytes});
}

const std::string& working_directory(RankProcess& process) {
  if (process.working_directory.empty()) {
    char path[PATH_MAX];
    process.working_directory = REAL(getcwd)(path, sizeof path) != nullptr ? path : "/";
  }
  return process.working_directory;
}

namespace {

// Calls find(absolute path).
template <typename Find>
ResolvedPath find_path(int directory, const char* path, const Find& find) {
  std::string whole;
  if (path == nullptr) path = "";  // the kernel has another error for it, and no file either
  if (path[0] != '/') {
    whole = directory == AT_FDCWD ? working_directory(*current()) : path_of_descriptor(directory);
    if (!whole.empty()) whole += '/';
  }
  whole += path;
  if (whole[0] != '/' || path[0] == '\0') {  // as the kernel answers: a bad descriptor, no path
    ResolvedPath found;
    found.host_path = path;
    found.error = path[0] == '\0' ? ENOENT : EBADF;
    return found;
  }
  const int node = file_hooks()->node();
  const HostScope host;
  return find(whole, node);
}

}  // namespace

ResolvedPath locate(int directory, const char* path, PathIntent intent) {
  return find_path(directory, path, [intent](const std::string& whole, int node) {
    return mounts().locate(whole, node, intent);
  });
}

ResolvedPath resolve(int directory, const char* path, bool follows_last) {
  return find_path(directory, path, [follows_last](const std::string& whole, int node) {
    return mounts().resolve(whole, node, follows_last);
  });
}

const int PathOperation::kWorkingDirectory = AT_FDCWD;

PathOperation::PathOperation(const char* call, int directory, const char* path, PathIntent intent)
    : directory_(directory), given_(path) {
  path_ = resolve(directory, path, intent == PathIntent::kRead || intent == PathIntent::kWrite);
  if (!path_.is_simulated()) return;
  operation_.emplace(call);
  path_ = locate(directory, path, intent);
}

}  // namespace sesame::loader
