// A program's POSIX and stdio calls on simulated files: the table of descriptors, and what the
// calls have in common. Each call is forwarded to a file of the host, which holds the bytes; the
// file layer (core/storage) resolves names and accounts for space; FileHooks charge the simulated
// time. Functions return what the C library's do: -1 and errno for an error. Internal to the
// loader; simulator thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/undestroyed.h"
#include "core/loader/file_hooks.h"
#include "core/loader/process.h"

namespace sesame::loader {

using storage::Direction;
using storage::FileCallRecord;
using storage::MetadataCall;
using storage::OpenFile;
using storage::PathIntent;
using storage::ResolvedPath;

// A descriptor of a file on a simulated file system. Duplicates share the open file.
struct Descriptor {
  std::shared_ptr<OpenFile> file;  // null: the descriptor is not of such a file
  int rank = 0;                    // that opened it
};

// By number; empty where there are no simulated file systems.
extern Undestroyed<std::vector<Descriptor>> g_descriptors;

inline OpenFile* open_file(int fd) {
  if (g_descriptors->empty() || current() == nullptr) return nullptr;
  const TableLock lock;
  return static_cast<size_t>(fd) < g_descriptors->size()
             ? (*g_descriptors)[static_cast<size_t>(fd)].file.get()
             : nullptr;
}
// The same file, which stays open while the result exists, even when another thread closes the
// descriptor. Null also where that has happened since the call of open_file().
inline std::shared_ptr<OpenFile> keep_open(int fd) {
  if (open_file(fd) == nullptr) return nullptr;
  const TableLock lock;
  return (*g_descriptors)[static_cast<size_t>(fd)].file;
}
// Whether the descriptor is still that of this file, after a wait.
inline bool is_still(int fd, const OpenFile& file) { return open_file(fd) == &file; }
// Whether another rank of this process opened it: the number is not one of this rank's.
// REQUIRES: open_file(fd) is not null.
inline bool is_of_other_rank(int fd) {
  const TableLock lock;
  return (*g_descriptors)[static_cast<size_t>(fd)].rank != current()->rank;
}
void set_descriptor(int fd, Descriptor descriptor);
// Ends a use of an open file. The last use ends when everything earlier in simulated time has
// happened. Keeps errno.
void drop_open_file(std::shared_ptr<OpenFile> file);

inline const FileHooks* file_hooks() { return hooks().files; }
inline storage::Mounts& mounts() { return *file_hooks()->mounts; }

// Whether there are simulated file systems and the function that uses this was called by a rank's
// program or a library. The simulator's own code, which also runs while a rank is active, means the
// host's files.
#define SERVES_RANK() \
  (file_hooks() != nullptr && current() != nullptr && !is_host_code(__builtin_return_address(0)))

// One call on a file. It begins when everything earlier in simulated time has happened, charges the
// time of its requests, and writes a record at its end. Calls that succeed do not change errno. In
// a child that a rank has forked no simulated time passes.
class FileOperation {
 public:
  explicit FileOperation(const char* call);
  ~FileOperation();
  FileOperation(const FileOperation&) = delete;
  FileOperation& operator=(const FileOperation&) = delete;

  void charge_metadata(const ResolvedPath& path, MetadataCall call);
  // `bytes` have been moved at this offset.
  void charge_access(const OpenFile& file, Direction direction, uint64_t offset, uint64_t bytes);
  void charge_flush(const OpenFile& file);
  // Starts an asynchronous transfer. Returns the ticket for FileHooks; null in a forked child.
  void* start_access(const OpenFile& file, Direction direction, uint64_t offset, uint64_t bytes);

  // What the call returns.
  template <typename T>
  T result(T value) {
    failed_ = value < T{};
    return value;
  }
  // For the record: what the call asks for.
  void asked_for(int64_t offset, uint64_t size) {
    record_.offset = offset;
    record_.size = size;
  }
  int fail(int code) {
    errno = code;
    return result(-1);
  }

 private:
  FileCallRecord record_;
  bool failed_ = false;
  int error_before_ = errno;
};

// A call about a path. It is a FileOperation only when the path is simulated.
class PathOperation {
 public:
  PathOperation(const char* call, int directory, const char* path, PathIntent intent);

  bool is_simulated() const { return path_.is_simulated(); }
  const ResolvedPath& path() const { return path_; }
  const char* real_path() const { return path_.host_path.c_str(); }
  int error() const { return path_.error; }

  // What to give the host's kernel for a path that is not simulated.
  int host_directory() const { return path_.error != 0 ? directory_ : kWorkingDirectory; }
  const char* host_path() const { return path_.error != 0 ? given_ : path_.host_path.c_str(); }

  void charge_metadata(MetadataCall call) { operation_->charge_metadata(path_, call); }
  void asked_for(uint64_t size) { operation_->asked_for(-1, size); }
  template <typename T>
  T result(T value) {
    return operation_->result(value);
  }
  int fail(int code) { return operation_->fail(code); }
  // Fails after a request that looked up the name.
  int fail_lookup(int code) {
    charge_metadata(MetadataCall::kStat);
    return fail(code);
  }

 private:
  static const int kWorkingDirectory;
  int directory_;
  const char* given_;
  ResolvedPath path_;
  std::optional<FileOperation> operation_;
};

// Calls `real`, which reads or changes attributes of an existing file by its path.
template <typename Call>
int with_path(const char* call, int directory, const char* path, PathIntent intent, Call real) {
  PathOperation operation(call, directory, path, intent);
  if (!operation.is_simulated()) return real(operation.host_directory(), operation.host_path());
  if (operation.error() != 0) return operation.fail(operation.error());
  const int status = real(operation.host_directory(), operation.real_path());
  operation.charge_metadata(MetadataCall::kStat);
  return operation.result(status);
}

// Resolve a path that a rank names, relative to a directory's descriptor or AT_FDCWD. locate() is
// for use inside an operation (Mounts::locate). resolve() has no side effects and may be called
// at any time (Mounts::resolve).
ResolvedPath resolve(int directory, const char* path, bool follows_last);
ResolvedPath locate(int directory, const char* path, PathIntent intent);

// The rank's working directory, as the program sees it.
const std::string& working_directory(RankProcess& process);

// The calls themselves, each for the rank_… functions of several C library names. `call` is the
// name in the record; the other parameters are those of the C library. `fd` was a simulated file
// (open_file(fd)): EBADF if another thread has closed it since. Paths may be of the host.
int open_path(const char* call, int directory, const char* path, int flags, mode_t mode);
int close_descriptor(int fd);
struct IoVector {
  const iovec* parts;
  int count;
  off_t offset;  // -1: the descriptor's position
  int flags = 0;
};
ssize_t read_file(const char* call, int fd, const IoVector& data);
ssize_t write_file(const char* call, int fd, const IoVector& data);
// Starts an asynchronous transfer at an offset; *ticket is null when it takes no time.
ssize_t start_transfer(int fd, Direction direction, const IoVector& data, void** ticket);
int flush_file(const char* call, int fd);
int truncate_file(const char* call, int fd, off_t size);
int describe_file(int fd, struct stat* result);
int stat_path(const char* call, int directory, const char* path, struct stat* result, int flags);
// `suffix` is the number of characters after XXXXXX in `path`.
int make_temporary(const char* call, char* path, int suffix, int flags);
int make_directory(const char* call, int directory, const char* path, mode_t mode);
ssize_t read_link(const char* call, int directory, const char* path, char* buffer, size_t size);
char* real_path(const char* path, char* resolved);
int remove_path(const char* call, int directory, const char* path, int flags);

// Streams of files on simulated file systems (file_streams.cc).
FILE* open_file_stream(const char* call, const char* path, const char* mode);
FILE* reopen_file_stream(const char* path, const char* mode, FILE* file);
int descriptor_of_stream(FILE* file);  // -1: not such a stream
int close_file_stream(FILE* file);
void flush_file_streams(const RankProcess& process);
// Closes what a rank has left open at its end; takes no simulated time.
void close_files(const RankProcess& process);

}  // namespace sesame::loader
