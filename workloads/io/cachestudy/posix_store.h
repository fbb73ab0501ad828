// The study's file on a real file system, by pread and pwrite.
#ifndef WORKLOADS_IO_CACHESTUDY_POSIX_STORE_H_
#define WORKLOADS_IO_CACHESTUDY_POSIX_STORE_H_

#include <string>

#include "io/cachestudy/store.h"
#include "kit/files.h"

namespace sesame::workload {

class PosixStore : public Store {
 public:
  // `direct`: past the page cache (O_DIRECT). `drop_caches`: flush() empties the caches of the
  // whole machine, for which root is needed. Throws UsageError where these are not available.
  PosixStore(const std::string& directory, bool direct, bool drop_caches);

  void create(long bytes) override;
  void open() override;
  void read(long offset, std::span<char> data) override {
    file_.read(data.data(), data.size(), offset);
  }
  void write(long offset, std::span<const char> data) override {
    file_.write(data.data(), data.size(), offset);
  }
  void synchronize() override { file_.sync(); }
  void flush() override;
  double now() const override;

 private:
  std::string path_;
  bool direct_, drop_caches_;
  File file_;
};

// The mounted file system that holds a directory.
struct FileSystem {
  std::string device, type;
  std::string text() const { return type + " on " + device; }
  // On tmpfs and the like there is no device.
  bool in_memory() const;
};
FileSystem file_system_of(const std::string& directory);

}  // namespace sesame::workload

#endif  // WORKLOADS_IO_CACHESTUDY_POSIX_STORE_H_
