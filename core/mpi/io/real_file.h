// The real bytes of a simulated file. Ranks and handles that have the same file open share one
// descriptor. Functions return an errno, 0 for success; calls go straight to the kernel, because
// the C library's functions of the same names may be the simulated ones.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sesame::mpi {

class RealFile {
 public:
  RealFile(int descriptor, std::string path, bool writes);
  ~RealFile();
  RealFile(const RealFile&) = delete;
  RealFile& operator=(const RealFile&) = delete;

  const std::string& path() const { return path_; }
  bool is_same_as(const RealFile& other) const;
  int size(uint64_t* bytes) const;
  int resize(uint64_t bytes) const;
  // As much as there is: *done is less than asked for at the end of the file only.
  int read(std::byte* data, uint64_t bytes, uint64_t offset, uint64_t* done) const;
  int write(const std::byte* data, uint64_t bytes, uint64_t offset) const;

 private:
  int descriptor_;
  std::string path_;
  bool writes_;
};

struct OpenFlags {
  bool writes = false;  // else only to be read
  bool create = false;
  bool exclusive = false;  // with create: it must not exist
};

// Whether there is a file with this path.
bool real_file_exists(const std::string& path);
int open_real_file(const std::string& path, OpenFlags flags, std::shared_ptr<RealFile>* file);
// How many descriptors are kept for sharing: those of files that are open.
size_t count_of_real_files();
int remove_real_file(const std::string& path);

// The MPI error class of an errno.
int file_error_class(int error);

}  // namespace sesame::mpi
