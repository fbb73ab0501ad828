// Descriptors of files on simulated file systems, and what the calls about them have in common.
// Internal to the loader.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/loader/file_hooks.h"
#include "core/loader/process.h"

extern "C" {
extern const char __executable_start;
extern const char etext;
}

namespace sesame::loader {

// One open file: what descriptors that were duplicated from each other have in common.
struct OpenFile {
  FilePath file;
  int rank = 0;
  explicit OpenFile(FilePath opened);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
};

// By descriptor; empty where there are no simulated file systems.
extern std::vector<std::shared_ptr<OpenFile>> g_open_files;

inline OpenFile* open_file(int fd) {
  return static_cast<size_t>(fd) < g_open_files.size() && current() != nullptr
             ? g_open_files[static_cast<size_t>(fd)].get()
             : nullptr;
}
void set_open_file(int fd, std::shared_ptr<OpenFile> file);

inline const FileHooks* file_hooks() { return hooks().files; }

// Whether a call comes from a rank's program or a library, and there are simulated file systems:
// the simulator's own code, which runs while a rank is active, means the host's files.
inline bool is_host_code(const void* address) {
  return address >= &__executable_start && address < &etext;
}
#define SERVES_RANK() \
  (file_hooks() != nullptr && current() != nullptr && !is_host_code(__builtin_return_address(0)))

// One call, from where everything earlier has happened to its end. Keeps errno.
class FileOperation {
 public:
  explicit FileOperation(const char* call);
  ~FileOperation();
  FileOperation(const FileOperation&) = delete;
  FileOperation& operator=(const FileOperation&) = delete;

  void metadata(const FilePath& file, FileCall call);
  void moved(const FilePath& file, bool is_write, uint64_t offset, uint64_t bytes);
  void flush(const FilePath& file);

  // What the call gives back.
  template <typename T>
  T result(T value) {
    note_.result = static_cast<int64_t>(value);
    return value;
  }
  void asked_for(int64_t offset, uint64_t size) {
    note_.offset = offset;
    note_.size = size;
  }
  int fail(int code) {
    errno = code;
    return result(-1);
  }

 private:
  FileCallNote note_;
  int error_before_ = errno;  // calls that succeed leave it alone
};

// A call about a path. It waits for everything earlier only when the path is simulated.
class PathOperation {
 public:
  PathOperation(const char* call, int directory, const char* path, PathUse use);

  bool is_simulated() const { return place_.is_simulated(); }
  const FilePath& path() const { return place_; }
  const char* real_path() const { return place_.path.c_str(); }
  int error() const { return place_.error; }

  // What to give the host's kernel for a path that is not simulated.
  int host_directory() const { return place_.error != 0 ? directory_ : kWorkingDirectory; }
  const char* host_path() const { return place_.error != 0 ? given_ : place_.path.c_str(); }

  void metadata(FileCall call) { operation_->metadata(place_, call); }
  void asked_for(uint64_t size) { operation_->asked_for(-1, size); }
  template <typename T>
  T result(T value) {
    return operation_->result(value);
  }
  int fail(int code) { return operation_->fail(code); }
  // Nothing came of it but a look at a name.
  int fail_look(int code) {
    metadata(FileCall::kStat);
    return fail(code);
  }

 private:
  static const int kWorkingDirectory;
  int directory_;
  const char* given_;
  FilePath place_;
  std::optional<FileOperation> operation_;
};

// A call that asks or changes something about an existing file by its path.
template <typename Call>
int with_path(const char* call, int directory, const char* path, PathUse use, Call real) {
  PathOperation operation(call, directory, path, use);
  if (!operation.is_simulated()) return real(operation.host_directory(), operation.host_path());
  if (operation.error() != 0) return operation.fail(operation.error());
  const int status = real(operation.host_directory(), operation.real_path());
  operation.metadata(FileCall::kStat);
  return operation.result(status);
}

// Where a path that a rank names leads, relative to a directory's descriptor or AT_FDCWD. The
// first only looks, also outside of an operation.
FilePath resolve(int directory, const char* path, bool follows_last);
FilePath locate(int directory, const char* path, PathUse use);

// Where the rank is, as it sees it.
const std::string& working_directory(RankProcess& process);

// The calls themselves, without a look at who calls.
int open_path(const char* call, int directory, const char* path, int flags, mode_t mode);
int close_descriptor(int fd);
struct Pieces {
  const iovec* parts;
  int count;
  off_t offset;  // -1: where the descriptor stands
  int flags = 0;
};
ssize_t read_file(const char* call, int fd, const Pieces& pieces);
ssize_t write_file(const char* call, int fd, const Pieces& pieces);
// A transfer at an offset whose time goes on by itself; *ticket is null when it has none.
ssize_t start_transfer(int fd, bool is_write, const Pieces& pieces, void** ticket);
int flush_file(const char* call, int fd);
int truncate_file(const char* call, int fd, off_t size);
int describe_file(int fd, struct stat* result);
int stat_path(const char* call, int directory, const char* path, struct stat* result, int flags);
int make_temporary(const char* call, char* path, int suffix, int flags);
int make_directory(const char* call, int directory, const char* path, mode_t mode);
ssize_t read_link(const char* call, int directory, const char* path, char* buffer, size_t size);
char* real_path(const char* path, char* resolved);
int remove_path(const char* call, int directory, const char* path, int flags);

// Streams of files on simulated file systems (file_streams.cc).
FILE* open_file_stream(const char* call, const char* path, const char* mode);
FILE* reopen_file_stream(const char* path, const char* mode, FILE* file);
bool is_file_stream(FILE* file);
int descriptor_of_stream(FILE* file);  // -1: not such a stream
int close_file_stream(FILE* file);
void flush_file_streams(const RankProcess& process);
// What is left open when a rank ends is closed, at no time of its own.
void close_files(const RankProcess& process);

}  // namespace sesame::loader
