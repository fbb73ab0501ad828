#include "io/shared_file.h"

#include <fcntl.h>

#include <exception>

#include "kit/arguments.h"
#include "kit/files.h"

namespace sesame::workload {
namespace {

class PosixFile : public SharedFile {
 public:
  explicit PosixFile(const std::string& path) : file_(File::open(path, O_CREAT | O_RDWR)) {}
  void read(void* data, long bytes, long offset) override { file_.read(data, bytes, offset); }
  void write(const void* data, long bytes, long offset) override {
    file_.write(data, bytes, offset);
  }

 private:
  File file_;
};

class MpiFile : public SharedFile {
 public:
  MpiFile(const std::string& path, MPI_Comm comm) : path_(path) {
    check_mpi_io(
        MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file_),
        path, "open");
  }
  ~MpiFile() override { close_mpi_file(file_); }

  void read(void* data, long bytes, long offset) override {
    MPI_Status status;
    check_mpi_io(MPI_File_read_at(file_, offset, data, static_cast<int>(bytes), MPI_BYTE, &status),
                 path_, "read");
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != bytes) throw FileError(path_ + ": cannot read: the file ends too early");
  }
  void write(const void* data, long bytes, long offset) override {
    check_mpi_io(MPI_File_write_at(file_, offset, data, static_cast<int>(bytes), MPI_BYTE,
                                   MPI_STATUS_IGNORE),
                 path_, "write");
  }

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

void check_interface(const std::string& interface) {
  if (interface != "posix" && interface != "mpi") {
    throw UsageError("--interface " + interface + ": expected posix or mpi");
  }
}

std::unique_ptr<SharedFile> open_shared(const std::string& interface, const std::string& path,
                                        MPI_Comm comm) {
  check_interface(interface);
  if (interface == "mpi") return std::make_unique<MpiFile>(path, comm);
  return std::make_unique<PosixFile>(path);
}

void close_mpi_file(MPI_File& file) {
  if (file != MPI_FILE_NULL && std::uncaught_exceptions() == 0) MPI_File_close(&file);
}

std::string text_of_mpi(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return std::string(text, length);
}

void check_mpi_io(int error, const std::string& path, const char* action) {
  if (error == MPI_SUCCESS) return;
  throw FileError(path + ": cannot " + action + ": " + text_of_mpi(error));
}

}  // namespace sesame::workload
