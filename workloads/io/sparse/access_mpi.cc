// The access modes by MPI-IO.
#include <mpi.h>

#include "io/shared_file.h"
#include "io/sparse/access.h"
#include "kit/agree.h"

namespace sesame::workload::sparse {
namespace {

// Offsets of MPI-IO count from the first row.
class MpiAccess : public Access {
 public:
  MpiAccess(const ExtendedFile& file, const RowChunks& chunks, long buffer_chunks = 1)
      : Access(file, chunks, buffer_chunks) {
    int error =
        MPI_File_open(MPI_COMM_WORLD, file.path.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file_);
    if (error == MPI_SUCCESS) {
      error = MPI_File_set_view(file_, ExtendedFile::kHeaderBytes, MPI_BYTE, MPI_BYTE, "native",
                                MPI_INFO_NULL);
    } else {
      file_ = MPI_FILE_NULL;
    }
    refuse_if_any(error == MPI_SUCCESS
                      ? ""
                      : "--matrix " + file.path + ": cannot open: " + text_of_mpi(error));
  }
  ~MpiAccess() override { close_mpi_file(file_); }

 protected:
  void check(int error, const char* action) const { check_mpi_io(error, path(), action); }

  static MPI_Offset place_of(const Request& request) {
    return request.offset - ExtendedFile::kHeaderBytes;
  }

  std::span<const char> received(const Request& request, const MPI_Status& status) const {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return {request.buffer, static_cast<std::size_t>(bytes)};
  }

  // A read that this rank started independently of the others.
  std::span<const char> finish(const Request& request) override {
    MPI_Status status;
    check(MPI_Wait(&pending_, &status), "read");
    return received(request, status);
  }

  MPI_File file_ = MPI_FILE_NULL;
  MPI_Request pending_ = MPI_REQUEST_NULL;
};

class Async : public MpiAccess {
 public:
  using MpiAccess::MpiAccess;

 protected:
  void begin(const Request& request) override {
    check(MPI_File_iread_at(file_, place_of(request), request.buffer,
                            static_cast<int>(request.bytes), MPI_BYTE, &pending_),
          "read");
  }
};

class Unix : public MpiAccess {
 public:
  Unix(const ExtendedFile& file, const RowChunks& chunks) : MpiAccess(file, chunks) {
    check(MPI_File_set_atomicity(file_, 1), "make reads atomic");
  }

 protected:
  void seek(const Request& request) override {
    check(MPI_File_seek(file_, place_of(request), MPI_SEEK_SET), "seek");
  }
  void begin(const Request& request) override {
    check(
        MPI_File_iread(file_, request.buffer, static_cast<int>(request.bytes), MPI_BYTE, &pending_),
        "read");
  }
};

class Log : public MpiAccess {
 public:
  using MpiAccess::MpiAccess;

 protected:
  void begin(const Request& request) override {
    check(MPI_File_iread_shared(file_, request.buffer, static_cast<int>(request.bytes), MPI_BYTE,
                                &pending_),
          "read");
  }
};

class Sync : public MpiAccess {
 public:
  using MpiAccess::MpiAccess;

 protected:
  void begin(const Request& request) override {
    check(MPI_File_read_ordered_begin(file_, request.buffer, static_cast<int>(request.bytes),
                                      MPI_BYTE),
          "read");
  }
  std::span<const char> finish(const Request& request) override {
    MPI_Status status;
    check(MPI_File_read_ordered_end(file_, request.buffer, &status), "read");
    return received(request, status);
  }
};

class Record : public MpiAccess {
 public:
  using MpiAccess::MpiAccess;

 protected:
  void begin(const Request& request) override {
    check(MPI_File_read_at_all_begin(file_, place_of(request), request.buffer,
                                     static_cast<int>(request.bytes), MPI_BYTE),
          "read");
  }
  std::span<const char> finish(const Request& request) override {
    MPI_Status status;
    check(MPI_File_read_at_all_end(file_, request.buffer, &status), "read");
    return received(request, status);
  }
};

}  // namespace

std::unique_ptr<Access> open_mpi(Mode mode, const ExtendedFile& file, const RowChunks& chunks) {
  switch (mode) {
    case Mode::kUnix:
      return std::make_unique<Unix>(file, chunks);
    case Mode::kLog:
      return std::make_unique<Log>(file, chunks);
    case Mode::kSync:
      return std::make_unique<Sync>(file, chunks);
    case Mode::kRecord:
      return std::make_unique<Record>(file, chunks);
    case Mode::kGlobal:
      return std::make_unique<Global<Async>>(file, chunks);
    case Mode::kAsync:
      break;
  }
  return std::make_unique<Async>(file, chunks);
}

}  // namespace sesame::workload::sparse
