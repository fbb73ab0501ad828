// The working directory and the file mode mask of a rank. The kernel keeps one of each for the
// whole process, so after the first change switches between ranks set them.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

// Each rank that has changed its directory holds a descriptor.
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
  if (!kRanksShareProcess) return 0;
  raise_descriptor_limit();
  const int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  if (process.directory >= 0) REAL(close)(process.directory);
  process.directory = directory;
  return 0;
}

int move_kernel_to(RankProcess& process, const char* path) {
  swap_directories_from_now_on();
  if (REAL(chdir)(path) != 0) return -1;
  set_working_directory(process, "");
  return remember_directory(process);
}

// On a simulated file system only the rank's recorded directory changes: the rank's relative paths
// are made absolute with it.
int move_to(RankProcess& process, const char* path) {
  PathOperation operation("chdir", AT_FDCWD, path, PathIntent::kRead);
  if (!operation.is_simulated()) return move_kernel_to(process, operation.host_path());
  if (operation.error() != 0) return operation.fail(operation.error());
  struct stat status;
  if (REAL(stat)(operation.real_path(), &status) != 0) return operation.fail_lookup(errno);
  if (!S_ISDIR(status.st_mode)) return operation.fail_lookup(ENOTDIR);
  operation.charge_metadata(MetadataCall::kStat);
  set_working_directory(process, operation.path().name);
  return operation.result(0);
}

char* give_text(const std::string& text, char* buffer, size_t size) {
  if (buffer == nullptr) {
    if (size != 0 && size <= text.size()) {
      errno = ERANGE;
      return nullptr;
    }
    return strdup(text.c_str());
  }
  if (size <= text.size()) {
    errno = size == 0 ? EINVAL : ERANGE;
    return nullptr;
  }
  return strcpy(buffer, text.c_str());
}

}  // namespace

extern "C" {

int rank_chdir(const char* path) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(chdir)(path);
  return file_hooks() != nullptr ? move_to(*process, path) : move_kernel_to(*process, path);
}
GLOBAL_NAME(chdir);

int rank_fchdir(int directory) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(fchdir)(directory);
  if (const std::shared_ptr<OpenFile> open = keep_open(directory))
    return move_to(*process, open->path().name.c_str());
  swap_directories_from_now_on();
  if (REAL(fchdir)(directory) != 0) return -1;
  set_working_directory(*process, "");
  return remember_directory(*process);
}
GLOBAL_NAME(fchdir);

char* rank_getcwd(char* buffer, size_t size) {
  if (!SERVES_RANK()) return REAL(getcwd)(buffer, size);
  return give_text(working_directory(*current()), buffer, size);
}
GLOBAL_NAME(getcwd);

char* rank___getcwd_chk(char* buffer, size_t size, size_t) { return rank_getcwd(buffer, size); }

char* rank_get_current_dir_name() {
  if (!SERVES_RANK()) return REAL(get_current_dir_name)();
  return strdup(working_directory(*current()).c_str());
}

char* rank_getwd(char* buffer) {
  if (!SERVES_RANK()) return REAL(getcwd)(buffer, PATH_MAX);
  return give_text(working_directory(*current()), buffer, PATH_MAX);
}

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
  BIND(table, getcwd);
  BIND(table, __getcwd_chk);
  BIND(table, get_current_dir_name);
  BIND(table, getwd);
  BIND(table, umask);
}

}  // namespace sesame::loader
