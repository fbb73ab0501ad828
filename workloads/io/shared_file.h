// A file that ranks read and write at explicit offsets, by POSIX or by MPI-IO. Errors throw
// FileError. Offsets and sizes are in bytes.
#ifndef WORKLOADS_IO_SHARED_FILE_H_
#define WORKLOADS_IO_SHARED_FILE_H_

#include <mpi.h>

#include <memory>
#include <string>

namespace sesame::workload {

class SharedFile {
 public:
  virtual ~SharedFile() = default;
  virtual void read(void* data, long bytes, long offset) = 0;
  virtual void write(const void* data, long bytes, long offset) = 0;
};

// Throws UsageError unless `interface` is posix or mpi. Call it before files are made.
void check_interface(const std::string& interface);

// Collective over `comm`. Opens for reading and writing; makes the file when there is none.
std::unique_ptr<SharedFile> open_shared(const std::string& interface, const std::string& path,
                                        MPI_Comm comm);

// Collective. Closes a file unless an exception is on its way through a destructor: a rank that
// fails alone would wait for the others for ever.
void close_mpi_file(MPI_File& file);

// The text of an MPI error.
std::string text_of_mpi(int error);
// Throws FileError unless `error` is MPI_SUCCESS.
void check_mpi_io(int error, const std::string& path, const char* action);

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_SHARED_FILE_H_
