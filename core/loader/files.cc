#include "core/loader/files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/loader/real.h"

namespace sesame::loader {

std::vector<std::shared_ptr<OpenFile>> g_open_files;

namespace {

// A child that a rank has forked has files, but no simulated time.
bool is_forked() { return REAL(getpid)() != host_pid(); }

std::string path_of_descriptor(int fd) {
  if (const OpenFile* open = open_file(fd)) return open->file.name;
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = REAL(readlink)(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

}  // namespace

OpenFile::OpenFile(FilePath opened) : file(std::move(opened)), rank(current()->rank) {
  file_hooks()->opened(file);
}
OpenFile::~OpenFile() { file_hooks()->closed(file); }

void set_open_file(int fd, std::shared_ptr<OpenFile> file) {
  const auto index = static_cast<size_t>(fd);
  if (index >= g_open_files.size()) {
    if (file == nullptr) return;
    g_open_files.resize(index + 1);
  }
  g_open_files[index] = std::move(file);
}

FileOperation::FileOperation(const char* call) {
  if (!is_forked()) file_hooks()->begin(call);
}
FileOperation::~FileOperation() {
  const int error = errno;
  if (note_.result < 0) note_.error = error;
  if (!is_forked()) file_hooks()->end(note_);
  errno = note_.result < 0 ? error : error_before_;
}

void FileOperation::metadata(const FilePath& file, FileCall call) {
  const int error = errno;
  if (!is_forked()) file_hooks()->metadata(file, call);
  errno = error;
}

void FileOperation::moved(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes) {
  const int error = errno;
  if (!is_forked()) file_hooks()->moved(file, is_write, offset, bytes);
  errno = error;
}

void FileOperation::flush(const FilePath& file) {
  const int error = errno;
  if (!is_forked()) file_hooks()->flush(file);
  errno = error;
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
FilePath find_path(int directory, const char* path, const Find& find) {
  std::string whole;
  if (path[0] != '/') {
    whole = directory == AT_FDCWD ? working_directory(*current()) : path_of_descriptor(directory);
    whole += '/';
  }
  whole += path;
  FilePath place;
  if (whole[0] != '/' || path[0] == '\0') {  // as the kernel answers: a bad descriptor, no path
    place.path = path;
    place.error = path[0] == '\0' ? ENOENT : EBADF;
    return place;
  }
  const HostScope host;
  return find(whole);
}

}  // namespace

FilePath locate(int directory, const char* path, PathUse use) {
  return find_path(directory, path,
                   [use](const std::string& whole) { return file_hooks()->locate(whole, use); });
}

FilePath resolve(int directory, const char* path, bool follows_last) {
  return find_path(directory, path, [follows_last](const std::string& whole) {
    return file_hooks()->resolve(whole, follows_last);
  });
}

const int PathOperation::kWorkingDirectory = AT_FDCWD;

PathOperation::PathOperation(const char* call, int directory, const char* path, PathUse use)
    : directory_(directory), given_(path) {
  place_ = resolve(directory, path, use == PathUse::kLook || use == PathUse::kChange);
  if (!place_.is_simulated()) return;
  operation_.emplace(call);
  place_ = locate(directory, path, use);
}

}  // namespace sesame::loader
