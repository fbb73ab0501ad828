#include "io/cachestudy/posix_store.h"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "kit/arguments.h"

namespace sesame::workload {
namespace {

constexpr char kDropCaches[] = "/proc/sys/vm/drop_caches";

bool contains(const std::string& directory, const std::string& path) {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

PosixStore::PosixStore(const std::string& directory, bool direct, bool drop_caches)
    : path_(directory + "/data"), direct_(direct), drop_caches_(drop_caches) {
  if (drop_caches && ::access(kDropCaches, W_OK) != 0) {
    throw UsageError(std::string("--drop-caches: cannot write ") + kDropCaches + ": " +
                     std::strerror(errno) + "; it needs root, --direct does not");
  }
}

void PosixStore::create(long bytes) {
  if (::access(path_.c_str(), F_OK) == 0) remove_file(path_);
  File file = File::open(path_, O_RDWR | O_CREAT | O_EXCL);
  const char last = 0;
  file.write(&last, 1, bytes - 1);
  file.close();
}

void PosixStore::open() { file_ = File::open(path_, O_RDWR | (direct_ ? O_DIRECT : 0)); }

void PosixStore::flush() {
  synchronize();
  if (drop_caches_) std::ofstream(kDropCaches) << "3\n" << std::flush;
  file_.drop_cache();
}

double PosixStore::now() const { return MPI_Wtime(); }

bool FileSystem::in_memory() const {
  return type == "tmpfs" || type == "ramfs" || type == "hugetlbfs";
}

// The mount with the longest name that the directory is under; the last of equal ones hides the
// others.
FileSystem file_system_of(const std::string& directory) {
  char* resolved = ::realpath(directory.c_str(), nullptr);
  const std::string path = resolved == nullptr ? directory : resolved;
  std::free(resolved);
  FileSystem best{"an unknown device", "a file system"};
  std::size_t longest = 0;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::string device, point, type;
    std::istringstream(line) >> device >> point >> type;
    if (!contains(point, path) || point.size() < longest) continue;
    longest = point.size();
    best = {device, type};
  }
  return best;
}

}  // namespace sesame::workload
