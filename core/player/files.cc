// Calls on files that lie on a file system of the target machine, as ordinary POSIX and stdio
// calls: the simulator's models take their time. `comm` is the file, `peer` the opening (slot),
// `list` the position. What a file holds does not matter; the run keeps only sizes.
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

struct Opening {
  bool is_open;
  int fd;
  FILE* stream;  // null: opened without
  int64_t position;
  bool has_written;  // the last access of a stream
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

// The simulator puts recorded computation before MPI calls, and calls on files are none.
void compute() { sesame_charge_computation(); }

void open_descriptor(Opening& opening, int32_t file, int flags) {
  opening = {};
  opening.fd = open(path_of(file), flags, kMode);
  // On another machine ranks that agreed on nothing may come in another order.
  if (opening.fd < 0) opening.fd = open(path_of(file), O_RDWR | O_CREAT, kMode);
  opening.is_open = opening.fd >= 0;
}

// One that the trace has no opening of is opened here.
Opening& opening_of(const Operation& op) {
  Opening& opening = player.openings[op.peer];
  if (!opening.is_open) open_descriptor(opening, op.comm, O_RDWR | O_CREAT);
  return opening;
}

void play_open(const Operation& op) {
  compute();
  open_descriptor(player.openings[op.peer], op.comm, op.tag);
}

const char* mode_of(int flags) {
  const bool both = (flags & O_ACCMODE) == O_RDWR;
  if ((flags & O_APPEND) != 0) return both ? "a+" : "a";
  if ((flags & O_TRUNC) != 0) return both ? "w+" : "w";
  return both ? "r+" : "r";
}

void play_open_stream(const Operation& op) {
  compute();
  Opening& opening = player.openings[op.peer];
  opening = {};
  opening.stream = fopen(path_of(op.comm), mode_of(op.tag));
  if (opening.stream == nullptr) opening.stream = fopen(path_of(op.comm), "w+");
  opening.is_open = opening.stream != nullptr;
  if (opening.is_open) opening.fd = fileno(opening.stream);
}

void play_close(const Operation& op) {
  compute();
  Opening& opening = player.openings[op.peer];
  if (!opening.is_open) return;
  if (opening.stream != nullptr) {
    fclose(opening.stream);
  } else {
    close(opening.fd);
  }
  opening = {};
}

void move_in_stream(Opening& opening, const Operation& op, int64_t at, bool writes) {
  if (at != opening.position || writes != opening.has_written)
    fseeko(opening.stream, static_cast<off_t>(at), SEEK_SET);
  const auto bytes = static_cast<size_t>(op.bytes);
  if (writes) {
    fwrite(player.buffers.receive, 1, bytes, opening.stream);
  } else if (fread(player.buffers.receive, 1, bytes, opening.stream) < bytes) {
    clearerr(opening.stream);
  }
  opening.has_written = writes;
}

template <bool writes>
void play_data(const Operation& op) {
  compute();
  Opening& opening = opening_of(op);
  if (!opening.is_open) return;
  const int64_t at = op.list >= 0 ? op.list : opening.position;
  const auto bytes = static_cast<size_t>(op.bytes);
  if (opening.stream != nullptr) {
    move_in_stream(opening, op, at, writes);
  } else if (writes) {
    if (pwrite(opening.fd, player.buffers.receive, bytes, static_cast<off_t>(at)) < 0) return;
  } else if (pread(opening.fd, player.buffers.receive, bytes, static_cast<off_t>(at)) < 0) {
    return;
  }
  opening.position = at + op.bytes;
}

// Goes on in the background. `number` is the position, `list` the number of the access.
template <bool writes>
void play_start(const Operation& op) {
  compute();
  const Opening& opening = opening_of(op);
  aiocb& control = player.accesses[op.list].control;
  memset(&control, 0, sizeof control);
  control.aio_fildes = opening.fd;
  control.aio_buf = player.buffers.receive;
  control.aio_nbytes = static_cast<size_t>(op.bytes);
  control.aio_offset = static_cast<off_t>(op.number >= 0 ? op.number : opening.position);
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
  fsync(opening_of(op).fd);
}

void play_flush(const Operation& op) {
  compute();
  const Opening& opening = opening_of(op);
  if (opening.stream != nullptr) fflush(opening.stream);
}

// `list` is the begin of what goes from memory, `bytes` its length.
void play_drop(const Operation& op) {
  compute();
  const int fd = opening_of(op).fd;
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

Opening* make_openings(uint64_t count) {
  return static_cast<Opening*>(zeroed(count, sizeof(Opening)));
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
