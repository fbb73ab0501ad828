#include "io/iow/target.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

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
      throw FileError(std::string(error.what()) + " (does the file system support O_DIRECT?)");
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

// Through the C library's buffer. Seeks only where records have gaps.
class StdioTarget : public Target {
 public:
  StdioTarget(const std::string& path, bool writing)
      : path_(path), file_(open(path, writing), std::fclose) {
    require(file_ != nullptr, "open");
  }
  void write(const void* data, std::size_t bytes, long offset) override {
    seek(offset);
    require(std::fwrite(data, 1, bytes, file_.get()) == bytes, "write");
    position_ += static_cast<long>(bytes);
  }
  void read(void* data, std::size_t bytes, long offset) override {
    seek(offset);
    require(std::fread(data, 1, bytes, file_.get()) == bytes, "read");
    position_ += static_cast<long>(bytes);
  }
  void sync() override {
    require(std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0, "sync to the disk");
  }
  void close() override { require(std::fclose(file_.release()) == 0, "close"); }

 private:
  // Does not truncate the file: several ranks may write it.
  static std::FILE* open(const std::string& path, bool writing) {
    const int flags = writing ? O_CREAT | O_WRONLY : O_RDONLY;
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    return descriptor < 0 ? nullptr : fdopen(descriptor, writing ? "w" : "r");
  }
  void seek(long offset) {
    if (offset != position_) require(fseeko(file_.get(), offset, SEEK_SET) == 0, "seek");
    position_ = offset;
  }
  void require(bool done, const char* action) const {
    if (!done) throw FileError(path_ + ": cannot " + action + ": " + std::strerror(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  long position_ = 0;
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
  void sync() override { require(MPI_File_sync(file_), "sync to the disk"); }
  void close() override { require(MPI_File_close(&file_), "close"); }

 private:
  void require(int error, const char* action) const { check_mpi_io(error, path_, action); }

  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<Target> open_target(const Plan& plan, const std::string& path, bool writing) {
  if (plan.interface == "mpi") return std::make_unique<MpiTarget>(plan, path, writing);
  if (plan.interface == "stdio") return std::make_unique<StdioTarget>(path, writing);
  return std::make_unique<PosixTarget>(plan, path, writing);
}

}  // namespace sesame::workload::iow
