// stdio streams of files on simulated file systems. The C library does the buffering; its reads and
// writes go through the file's descriptor.
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "core/base/undestroyed.h"
#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"
#include "core/loader/stream.h"

namespace sesame::loader {
namespace {

struct FileStream {
  int rank = 0;
  int fd = -1;  // -1: a file of the host, listed only so that it is flushed
  std::unique_ptr<char[]> buffer;
};
Undestroyed<std::unordered_map<FILE*, std::unique_ptr<FileStream>>> g_streams;

void add_stream(FILE* file, std::unique_ptr<FileStream> stream) {
  const TableLock lock;
  (*g_streams)[file] = std::move(stream);
}

std::vector<FILE*> streams_of(const RankProcess& process) {
  const TableLock lock;
  std::vector<FILE*> own;
  for (const auto& [file, stream] : *g_streams)
    if (stream->rank == process.rank) own.push_back(file);
  return own;
}

FileStream* find_stream(FILE* file) {
  if (g_streams->empty()) return nullptr;
  const TableLock lock;
  const auto found = g_streams->find(file);
  return found == g_streams->end() ? nullptr : found->second.get();
}

// Streams of a rank that was stopped are left to the host's exit, which writes nothing.
bool is_owner(const FileStream& stream) {
  return current() != nullptr && current()->rank == stream.rank && open_file(stream.fd) != nullptr;
}

ssize_t read_cookie(void* cookie, char* data, size_t size) {
  const auto& stream = *static_cast<FileStream*>(cookie);
  if (!is_owner(stream)) return 0;
  const iovec part{data, size};
  return read_file("read", stream.fd, {&part, 1, -1});
}

ssize_t write_cookie(void* cookie, const char* data, size_t size) {
  const auto& stream = *static_cast<FileStream*>(cookie);
  if (!is_owner(stream)) return static_cast<ssize_t>(size);
  size_t done = 0;
  while (done < size) {
    const iovec part{const_cast<char*>(data) + done, size - done};
    const ssize_t count = write_file("write", stream.fd, {&part, 1, -1});
    if (count <= 0) return static_cast<ssize_t>(done);
    done += static_cast<size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

int seek_cookie(void* cookie, off64_t* offset, int whence) {
  const off_t place = REAL(lseek)(static_cast<FileStream*>(cookie)->fd, *offset, whence);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

int close_cookie(void* cookie) {
  const auto& stream = *static_cast<FileStream*>(cookie);
  return is_owner(stream) ? close_descriptor(stream.fd) : 0;
}

// The flags of open for fopen's mode; -1 when it is invalid.
int flags_of(const char* mode) {
  int flags = 0;
  if (mode[0] == 'r') {
    flags = O_RDONLY;
  } else if (mode[0] == 'w') {
    flags = O_WRONLY | O_CREAT | O_TRUNC;
  } else if (mode[0] == 'a') {
    flags = O_WRONLY | O_CREAT | O_APPEND;
  } else {
    return -1;
  }
  for (const char* c = mode + 1; *c != '\0' && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*c == 'x') flags |= O_EXCL;
    if (*c == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

// The mode without characters that only matter to open.
std::string plain_mode(const char* mode) {
  std::string plain(1, mode[0]);
  if (std::string_view(mode).substr(0, std::string_view(mode).find(',')).contains('+'))
    plain += '+';
  return plain;
}

FILE* fail_stream(int code) {
  errno = code;
  return nullptr;
}

FILE* stream_of(int fd, const char* mode) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) return fail_stream(EBADF);
  auto stream = std::make_unique<FileStream>();
  stream->rank = current()->rank;
  stream->fd = fd;
  const size_t block = open->path().block;
  stream->buffer = std::make_unique<char[]>(block);
  FILE* file = fopencookie(stream.get(), plain_mode(mode).c_str(),
                           {read_cookie, write_cookie, seek_cookie, close_cookie});
  if (file == nullptr) return nullptr;
  setvbuf(file, stream->buffer.get(), _IOFBF, block);
  if (plain_mode(mode) == "a") REAL(lseek)(fd, 0, SEEK_END);
  add_stream(file, std::move(stream));
  return file;
}

FILE* track_host_stream(FILE* file) {
  if (file == nullptr) return nullptr;
  auto stream = std::make_unique<FileStream>();
  stream->rank = current()->rank;
  add_stream(file, std::move(stream));
  return file;
}

}  // namespace

FILE* open_file_stream(const char* call, const char* path, const char* mode) {
  const int flags = flags_of(mode);
  if (flags < 0) return fail_stream(EINVAL);
  const ResolvedPath found = resolve(AT_FDCWD, path, true);
  if (!found.is_simulated())
    return track_host_stream(REAL(fopen)(found.error != 0 ? path : found.host_path.c_str(), mode));
  const int fd = open_path(call, AT_FDCWD, path, flags, 0666);
  return fd < 0 ? nullptr : stream_of(fd, mode);
}

// The stream stays the same object. Its mode is stored in flags with values that glibc's ABI fixes
// (libio.h: _IO_NO_READS, _IO_NO_WRITES, _IO_IS_APPENDING).
FILE* reopen_file_stream(const char* path, const char* mode, FILE* file) {
  constexpr int kNoReads = 0x4;
  constexpr int kNoWrites = 0x8;
  constexpr int kAppends = 0x1000;
  FileStream* stream = find_stream(file);
  if (stream == nullptr || stream->fd < 0) {
    close_file_stream(file);
    return path == nullptr ? fail_stream(EBADF) : open_file_stream("freopen", path, mode);
  }
  REAL(fflush)(file);
  __fpurge(file);
  clearerr(file);
  if (open_file(stream->fd) != nullptr) close_descriptor(stream->fd);
  const int flags = flags_of(mode);
  stream->fd = -1;
  if (flags >= 0 && path != nullptr) stream->fd = open_path("freopen", AT_FDCWD, path, flags, 0666);
  // A file of the host cannot be in this kind of stream.
  if (stream->fd < 0 || open_file(stream->fd) == nullptr) {
    const int error = path == nullptr || flags < 0 ? EBADF : errno;
    if (stream->fd >= 0) REAL(close)(stream->fd);
    close_file_stream(file);
    return fail_stream(error);
  }
  const int access = flags & O_ACCMODE;
  file->_flags &= ~(kNoReads | kNoWrites | kAppends);
  if (access == O_WRONLY) file->_flags |= kNoReads;
  if (access == O_RDONLY) file->_flags |= kNoWrites;
  if ((flags & O_APPEND) != 0) file->_flags |= kAppends;
  return file;
}

int descriptor_of_stream(FILE* file) {
  const FileStream* stream = find_stream(file);
  return stream == nullptr ? -1 : stream->fd;
}

int close_file_stream(FILE* file) {
  if (find_stream(file) == nullptr) return REAL(fclose)(file);
  std::unique_ptr<FileStream> stream;
  {
    // Before it is closed: another thread may open one at the same address then.
    const TableLock lock;
    std::swap(stream, (*g_streams)[file]);
    g_streams->erase(file);
  }
  return REAL(fclose)(file);
}

void flush_file_streams(const RankProcess& process) {
  for (FILE* file : streams_of(process))
    if (find_stream(file) != nullptr) REAL(fflush)(file);
}

extern "C" {

FILE* rank_fopen(const char* path, const char* mode) {
  if (!SERVES_RANK()) return REAL(fopen)(path, mode);
  return open_file_stream("fopen", path, mode);
}
GLOBAL_NAME(fopen);
GLOBAL_NAME_AS(fopen64, fopen);

FILE* rank_fdopen(int fd, const char* mode) {
  if (open_file(fd) == nullptr) return REAL(fdopen)(fd, mode);
  const int flags = flags_of(mode);
  const int open_flags = fcntl(fd, F_GETFL) & O_ACCMODE;
  const int wanted = flags & O_ACCMODE;
  if (flags < 0 || (open_flags != O_RDWR && open_flags != wanted)) return fail_stream(EINVAL);
  if (mode[0] == 'a') fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND);
  return stream_of(fd, mode);
}
GLOBAL_NAME(fdopen);

// An unnamed file in the directory of temporary files.
FILE* rank_tmpfile() {
  if (!SERVES_RANK()) return REAL(tmpfile)();
  char path[] = P_tmpdir "/sesame-XXXXXX";
  if (!resolve(AT_FDCWD, path, true).is_simulated()) return track_host_stream(REAL(tmpfile)());
  const int fd = make_temporary("tmpfile", path, 0, 0);
  if (fd < 0) return nullptr;
  remove_path("tmpfile", AT_FDCWD, path, 0);
  return stream_of(fd, "w+");
}

int rank_fcloseall() {
  const RankProcess* process = current();
  if (process == nullptr) return REAL(fcloseall)();
  for (FILE* file : streams_of(*process)) close_file_stream(file);
  return 0;
}

}  // extern "C"

void bind_file_streams(BindingTable& table) {
  BIND(table, fopen);
  BIND_AS(table, "fopen64", fopen);
  BIND_AS(table, "_IO_fopen", fopen);
  BIND(table, fdopen);
  BIND_AS(table, "_IO_fdopen", fdopen);
  BIND(table, tmpfile);
  BIND_AS(table, "tmpfile64", tmpfile);
  BIND(table, fcloseall);
}

}  // namespace sesame::loader
