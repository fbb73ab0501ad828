// A file as iow uses it, through POSIX, the C library's streams or MPI-IO. What fails throws
// FileError on that rank.
#ifndef WORKLOADS_IO_IOW_TARGET_H_
#define WORKLOADS_IO_IOW_TARGET_H_

#include <cstddef>
#include <memory>
#include <string>

#include "io/iow/plan.h"

namespace sesame::workload::iow {

class Target {
 public:
  virtual ~Target() = default;
  virtual void write(const void* data, std::size_t bytes, long offset) = 0;
  virtual void read(void* data, std::size_t bytes, long offset) = 0;
  virtual void sync() = 0;
  virtual void close() = 0;
};

// Collective for MPI-IO on a shared file.
std::unique_ptr<Target> open_target(const Plan& plan, const std::string& path, bool writing);

}  // namespace sesame::workload::iow

#endif  // WORKLOADS_IO_IOW_TARGET_H_
