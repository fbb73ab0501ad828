#include "io/iow/target.h"

#include <fcntl.h>
#include <mpi.h>

#include "io/shared_file.h"
#include "kit/files.h"

namespace sesame::workload::iow {
namespace {

class PosixTarget : public Target {
 public:
  PosixTarget(const Plan& plan, const std::string& path, bool writing) {
    const int flags = (writing ? O_CREAT | O_WRONLY : O_RDONLY) | (plan.direct ? O_DIRECT : 0);
    try {
      file_ = File::open(path, flags);
    } catch (const FileError& error) {
      if (!plan.direct) throw;
      throw FileError(std::string(error.what()) + " (does the file system know O_DIRECT?)");
    }
  }
  void write(const void* data, std::size_t bytes, long offset) override {
    file_.write(data, bytes, offset);
  }
  void read(void* data, std::size_t bytes, long offset) override {
    file_.read(data, bytes, offset);
  }
  void sync() override { file_.sync(); }
  void close() override { file_.close(); }

 private:
  File file_;
};

class MpiTarget : public Target {
 public:
  MpiTarget(const Plan& plan, const std::string& path, bool writing) : path_(path) {
    const int access = writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    const MPI_Comm comm = plan.is_shared() ? MPI_COMM_WORLD : MPI_COMM_SELF;
    require(MPI_File_open(comm, path.c_str(), access, MPI_INFO_NULL, &file_), "open");
  }
  void write(const void* data, std::size_t bytes, long offset) override {
    require(MPI_File_write_at(file_, offset, data, static_cast<int>(bytes), MPI_BYTE,
                              MPI_STATUS_IGNORE),
            "write");
  }
  void read(void* data, std::size_t bytes, long offset) override {
    MPI_Status status;
    require(MPI_File_read_at(file_, offset, data, static_cast<int>(bytes), MPI_BYTE, &status),
            "read");
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != static_cast<int>(bytes)) throw FileError(path_ + ": cannot read: it is too short");
  }
  void sync() override { require(MPI_File_sync(file_), "bring to the disk"); }
  void close() override { require(MPI_File_close(&file_), "close"); }

 private:
  void require(int error, const char* action) const { check_mpi_io(error, path_, action); }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<Target> open_target(const Plan& plan, const std::string& path, bool writing) {
  if (plan.interface == "mpi") return std::make_unique<MpiTarget>(plan, path, writing);
  return std::make_unique<PosixTarget>(plan, path, writing);
}

}  // namespace sesame::workload::iow
