// The access modes by plain reads and messages.
#include <fcntl.h>
#include <mpi.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "io/sparse/access.h"
#include "kit/agree.h"
#include "kit/arguments.h"
#include "kit/files.h"

namespace sesame::workload::sparse {
namespace {

constexpr int kTurn = 7;  // tag

class PosixAccess : public Access {
 public:
  PosixAccess(const ExtendedFile& file, const RowChunks& chunks, long buffer_chunks)
      : Access(file, chunks, buffer_chunks), chunks_(chunks) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    descriptor_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    refuse_if_any(
        descriptor_ < 0 ? "--matrix " + file.path + ": cannot open: " + std::strerror(errno) : "");
  }
  ~PosixAccess() override { ::close(descriptor_); }

 protected:
  void announce(long offset, long bytes) const {
    if (bytes > 0) ::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
  }

  // `bytes` from where the file pointer is, or from `offset`.
  void read_here(char* to, long bytes) const { read(to, bytes, -1); }
  void read_at(char* to, long bytes, long offset) const { read(to, bytes, offset); }

  [[noreturn]] void fail(const char* action) const {
    throw FileError(path() + ": cannot " + action + ": " + std::strerror(errno));
  }

  RowChunks chunks_;
  int descriptor_ = -1, rank_ = 0, ranks_ = 1;

 private:
  void read(char* to, long bytes, long offset) const {
    for (long done = 0; done < bytes;) {
      const ssize_t count = offset < 0
                                ? ::read(descriptor_, to + done, bytes - done)
                                : ::pread(descriptor_, to + done, bytes - done, offset + done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read");
      if (count == 0) throw FileError(path() + ": cannot read: the file has become shorter");
      done += count;
    }
  }
};

class Async : public PosixAccess {
 public:
  Async(const ExtendedFile& file, const RowChunks& chunks, long buffer_chunks = 1)
      : PosixAccess(file, chunks, buffer_chunks) {}

 protected:
  void begin(const Request& request) override { announce(request.offset, request.bytes); }
  std::span<const char> finish(const Request& request) override {
    read_at(request.buffer, request.bytes, request.offset);
    return {request.buffer, static_cast<std::size_t>(request.bytes)};
  }
};

class Unix : public PosixAccess {
 public:
  Unix(const ExtendedFile& file, const RowChunks& chunks) : PosixAccess(file, chunks, 1) {}

 protected:
  void seek(const Request& request) override {
    if (::lseek(descriptor_, request.offset, SEEK_SET) < 0) fail("seek");
  }
  void begin(const Request& request) override { announce(request.offset, request.bytes); }
  std::span<const char> finish(const Request& request) override {
    // One rank at a time, in the order in which they come.
    if (::flock(descriptor_, LOCK_EX) != 0) fail("lock");
    read_here(request.buffer, request.bytes);
    if (::flock(descriptor_, LOCK_UN) != 0) fail("unlock");
    return {request.buffer, static_cast<std::size_t>(request.bytes)};
  }
};

class Record : public Async {
 public:
  using Async::Async;

 protected:
  std::span<const char> finish(const Request& request) override {
    MPI_Barrier(MPI_COMM_WORLD);
    return Async::finish(request);
  }
};

// Turns go from rank to rank with the chunks.
class Sync : public Async {
 public:
  using Async::Async;

 protected:
  std::span<const char> finish(const Request& request) override {
    if (ranks_ > 1 && request.chunk > 0) {
      MPI_Recv(nullptr, 0, MPI_BYTE, (rank_ + ranks_ - 1) % ranks_, kTurn, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    const std::span<const char> rows = Async::finish(request);
    const long cycles = (chunks_.count() + ranks_ - 1) / ranks_;
    if (ranks_ > 1 && request.chunk + 1 < cycles * ranks_) {
      MPI_Send(nullptr, 0, MPI_BYTE, (rank_ + 1) % ranks_, kTurn, MPI_COMM_WORLD);
    }
    return rows;
  }
};

}  // namespace

std::unique_ptr<Access> open_posix(Mode mode, const ExtendedFile& file, const RowChunks& chunks) {
  switch (mode) {
    case Mode::kUnix:
      return std::make_unique<Unix>(file, chunks);
    case Mode::kSync:
      return std::make_unique<Sync>(file, chunks);
    case Mode::kRecord:
      return std::make_unique<Record>(file, chunks);
    case Mode::kGlobal:
      return std::make_unique<Global<Async>>(file, chunks);
    case Mode::kAsync:
      return std::make_unique<Async>(file, chunks);
    case Mode::kLog:
      break;
  }
  throw UsageError(
      "--mode log needs one file pointer for all ranks, which POSIX does not give to processes "
      "that open a file each; --interface mpi has one");
}

}  // namespace sesame::workload::sparse
