// POSIX files of a workload, and directories for the temporary ones.
//
//   const std::string directory = make_temporary_directory("--dir", options.dir, bytes);
//   File file = File::open(directory + "/data", O_CREAT | O_RDWR);
//   file.write(block.data(), block.size(), offset);
#ifndef WORKLOADS_KIT_FILES_H_
#define WORKLOADS_KIT_FILES_H_

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "kit/report.h"

namespace sesame::workload {

// A failed system call: path, action, reason. A single rank may throw it: Program prints it,
// removes the temporary directories and ends all ranks with status 1.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An open file, closed by the destructor. Reads and writes transfer all bytes or throw FileError.
// Offsets and sizes are in bytes.
class File {
 public:
  // `flags` as of open(2).
  static File open(const std::string& path, int flags);

  File() = default;
  ~File();
  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  void write(const void* data, std::size_t bytes, long offset) const;
  // Throws FileError where the file ends before `offset` + `bytes`.
  void read(void* data, std::size_t bytes, long offset) const;
  // fsync(2): returns when all written data is on the device.
  void sync() const;
  // Asks the kernel to drop the file's clean pages from the page cache (posix_fadvise). Dirty pages
  // stay, and some file systems ignore the request.
  void drop_cache() const;
  long size() const;
  // Unlike the destructor, throws when the file system reports that a write failed after all.
  void close();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

void remove_file(const std::string& path);
void rename_file(const std::string& from, const std::string& to);

// Collective. A new directory sesame-XXXXXX in `parent`, the same path on all ranks. Program
// removes it with the files in it at the end, on an error, and on SIGINT, SIGTERM and SIGHUP.
// Throws UsageError, on all ranks, if `parent`, which `option` gave, cannot be written or has less
// space than `bytes`.
std::string make_temporary_directory(const std::string& option, const std::string& parent,
                                     double bytes);

// Collective. Moves the files of a temporary directory to its parent directory, unless the run's
// verdict is wrong.
void keep_files(const Report& report, const std::string& directory, const std::string& parent);

// For Program. Collective: removes all directories of make_temporary_directory.
void remove_temporary_directories();

// For Program, on a rank that fails alone: removes the directories. False when another rank has
// already done so and prints the error: a full disk hits many ranks at once.
bool abandon_temporary_directories();

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_FILES_H_
