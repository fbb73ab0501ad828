// Calls on files of the target machine's file systems, repeated as ordinary POSIX and stdio calls,
// whose time the simulator models. In an Operation, `comm` is the file, `peer` the slot of the open
// file and `list` the position. The contents of files do not matter; only sizes are kept.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/player/player.h"

namespace sesame::player {

struct OpenFile {
  bool is_open;
  int fd;
  FILE* stream;  // null: opened as a descriptor
  int64_t position;
  bool has_written;  // whether the last access of the stream was a write
};

struct Access {
  aiocb control;
};

namespace {

using namespace sesame::mpi;

constexpr mode_t kMode = 0666;

const char* path_of(int32_t file) {
  return player.plan.text + reinterpret_cast<const uint64_t*>(player.plan.files)[file];
}

// The simulator charges recorded computation before MPI calls only, so calls on files ask for it.
void compute() { sesame_charge_computation(); }

void open_descriptor(OpenFile& open_file, int32_t file, int flags) {
  open_file = {};
  open_file.fd = open(path_of(file), flags, kMode);
  // On another machine, ranks that do not synchronize may open the file in another order: it may
  // not exist yet, or exist already.
  if (open_file.fd < 0) open_file.fd = open(path_of(file), O_RDWR | O_CREAT, kMode);
  open_file.is_open = open_file.fd >= 0;
}

// The open file of the operation. Opens it first if the trace has no record of its open.
OpenFile& open_file_of(const Operation& op) {
  OpenFile& open_file = player.open_files[op.peer];
  if (!open_file.is_open) open_descriptor(open_file, op.comm, O_RDWR | O_CREAT);
  return open_file;
}

void play_open(const Operation& op) {
  compute();
  open_descriptor(player.open_files[op.peer], op.comm, op.tag);
}

const char* mode_of(int flags) {
  const bool both = (flags & O_ACCMODE) == O_RDWR;
  if ((flags & O_APPEND) != 0) return both ? "a+" : "a";
  if ((flags & O_TRUNC) != 0) return both ? "w+" : "w";
  return both ? "r+" : "r";
}

void play_open_stream(const Operation& op) {
  compute();
  OpenFile& open_file = player.open_files[op.peer];
  open_file = {};
  open_file.stream = fopen(path_of(op.comm), mode_of(op.tag));
  if (open_file.stream == nullptr) open_file.stream = fopen(path_of(op.comm), "w+");
  open_file.is_open = open_file.stream != nullptr;
  if (open_file.is_open) open_file.fd = fileno(open_file.stream);
}

void play_close(const Operation& op) {
  compute();
  OpenFile& open_file = player.open_files[op.peer];
  if (!open_file.is_open) return;
  if (open_file.stream != nullptr) {
    fclose(open_file.stream);
  } else {
    close(open_file.fd);
  }
  open_file = {};
}

void move_in_stream(OpenFile& open_file, const Operation& op, int64_t at, bool writes) {
  if (at != open_file.position || writes != open_file.has_written)
    fseeko(open_file.stream, static_cast<off_t>(at), SEEK_SET);
  const auto bytes = static_cast<size_t>(op.bytes);
  if (writes) {
    fwrite(player.buffers.receive, 1, bytes, open_file.stream);
  } else if (fread(player.buffers.receive, 1, bytes, open_file.stream) < bytes) {
    clearerr(open_file.stream);
  }
  open_file.has_written = writes;
}

template <bool writes>
void play_data(const Operation& op) {
  compute();
  OpenFile& open_file = open_file_of(op);
  if (!open_file.is_open) return;
  const int64_t at = op.list >= 0 ? op.list : open_file.position;
  const auto bytes = static_cast<size_t>(op.bytes);
  if (open_file.stream != nullptr) {
    move_in_stream(open_file, op, at, writes);
  } else if (writes) {
    if (pwrite(open_file.fd, player.buffers.receive, bytes, static_cast<off_t>(at)) < 0) return;
  } else if (pread(open_file.fd, player.buffers.receive, bytes, static_cast<off_t>(at)) < 0) {
    return;
  }
  open_file.position = at + op.bytes;
}

// Starts an asynchronous access. `number` is the position, `list` the number of the access.
template <bool writes>
void play_start(const Operation& op) {
  compute();
  const OpenFile& open_file = open_file_of(op);
  aiocb& control = player.accesses[op.list].control;
  memset(&control, 0, sizeof control);
  control.aio_fildes = open_file.fd;
  control.aio_buf = player.buffers.receive;
  control.aio_nbytes = static_cast<size_t>(op.bytes);
  control.aio_offset = static_cast<off_t>(op.number >= 0 ? op.number : open_file.position);
  control.aio_sigevent.sigev_notify = SIGEV_NONE;
  if ((writes ? aio_write(&control) : aio_read(&control)) != 0) control.aio_fildes = -1;
}

void play_wait(const Operation& op) {
  compute();
  aiocb& control = player.accesses[op.list].control;
  if (control.aio_fildes < 0) return;
  const aiocb* const one[] = {&control};
  while (aio_suspend(one, 1, nullptr) != 0 && errno == EINTR) continue;
  aio_return(&control);
}

void play_sync(const Operation& op) {
  compute();
  fsync(open_file_of(op).fd);
}

void play_flush(const Operation& op) {
  compute();
  const OpenFile& open_file = open_file_of(op);
  if (open_file.stream != nullptr) fflush(open_file.stream);
}

// Drops a range of the file from memory: `list` is its begin, `bytes` its length.
void play_drop(const Operation& op) {
  compute();
  const int fd = open_file_of(op).fd;
  posix_fadvise(fd, static_cast<off_t>(op.list), static_cast<off_t>(op.bytes), POSIX_FADV_DONTNEED);
}

void play_stat(const Operation& op) {
  compute();
  struct stat status;
  stat(path_of(op.comm), &status);
}

void play_remove(const Operation& op) {
  compute();
  remove(path_of(op.comm));
}

// `tag` is the file with the new name.
void play_rename(const Operation& op) {
  compute();
  rename(path_of(op.comm), path_of(op.tag));
}

void play_make_directory(const Operation& op) {
  compute();
  mkdir(path_of(op.comm), 0777);
}

void play_resize(const Operation& op) {
  compute();
  if (truncate(path_of(op.comm), static_cast<off_t>(op.list)) != 0) return;
}

}  // namespace

OpenFile* make_open_files(uint64_t count) {
  return static_cast<OpenFile*>(zeroed(count, sizeof(OpenFile)));
}
Access* make_accesses(uint64_t count) {
  return static_cast<Access*>(zeroed(count, sizeof(Access)));
}

const PlayedCall kFileCalls[] = {
    {"file_open", play_open},
    {"file_open_stream", play_open_stream},
    {"file_close", play_close},
    {"file_read", play_data<false>},
    {"file_write", play_data<true>},
    {"file_start_read", play_start<false>},
    {"file_start_write", play_start<true>},
    {"file_wait", play_wait},
    {"file_sync", play_sync},
    {"file_flush", play_flush},
    {"file_drop", play_drop},
    {"file_stat", play_stat},
    {"file_remove", play_remove},
    {"file_rename", play_rename},
    {"file_mkdir", play_make_directory},
    {"file_resize", play_resize},
    {nullptr, nullptr},
};

}  // namespace sesame::player
