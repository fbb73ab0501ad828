// The working directory and the file mode mask of a rank. The kernel keeps one of each for the
// whole process: from the first change on, switches between ranks change them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

// Each rank that has moved holds a descriptor.
void raise_descriptor_limit() {
  static const bool raised = [] {
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
  }();
  (void)raised;
}

int remember_directory(RankProcess& process) {
  raise_descriptor_limit();
  const int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  if (process.directory >= 0) REAL(close)(process.directory);
  process.directory = directory;
  return 0;
}

}  // namespace

extern "C" {

int rank_chdir(const char* path) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(chdir)(path);
  swap_directories_from_now_on();
  if (REAL(chdir)(path) != 0) return -1;
  return remember_directory(*process);
}
GLOBAL_NAME(chdir);

int rank_fchdir(int directory) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(fchdir)(directory);
  swap_directories_from_now_on();
  if (REAL(fchdir)(directory) != 0) return -1;
  return remember_directory(*process);
}
GLOBAL_NAME(fchdir);

mode_t rank_umask(mode_t mask) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(umask)(mask);
  swap_directories_from_now_on();
  process->file_mode_mask = static_cast<int>(mask & 0777);
  return REAL(umask)(mask);
}

}  // extern "C"

void bind_directories(BindingTable& table) {
  BIND(table, chdir);
  BIND(table, fchdir);
  BIND(table, umask);
}

}  // namespace sesame::loader
