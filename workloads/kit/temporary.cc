// Temporary directories of kit/files.h. They hold files only. Functions that a signal handler calls
// must not use the heap: names are in static storage, directories are read by the system call.
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "kit/agree.h"
#include "kit/arguments.h"
#include "kit/files.h"
#include "kit/ranks.h"

namespace sesame::workload {
namespace {

constexpr int kMostDirectories = 8;
constexpr char kAbandoned[] = ".gone";

char directories[kMostDirectories][PATH_MAX];
volatile std::sig_atomic_t count = 0;
alignas(dirent64) char entries[4096];

bool remove_files(const char* path) {
  const int directory = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  ssize_t bytes;
  while ((bytes = ::getdents64(directory, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < bytes;) {
      const dirent64* entry = reinterpret_cast<const dirent64*>(entries + at);
      ::unlinkat(directory, entry->d_name, 0);  // refuses . and ..
      at += entry->d_reclen;
    }
  }
  ::close(directory);
  return true;
}

// More than once, because another rank may still make a file.
void remove_directory(const char* path) {
  for (int attempt = 0; attempt < 10 && remove_files(path); ++attempt) {
    if (::rmdir(path) == 0) return;
  }
}

void remove_and_end(int number) {
  const int saved = errno;
  for (int i = 0; i < count; ++i) remove_directory(directories[i]);
  errno = saved;
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void handle_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // A program under nohup continues to ignore SIGHUP.
    struct sigaction present;
    if (::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = remove_and_end;
    ::sigaction(number, &action, nullptr);
  }
  // Then a write beyond the file size limit fails with an error instead of a signal.
  ::signal(SIGXFSZ, SIG_IGN);
}

// Returns the error, or an empty string.
std::string check_space(const std::string& parent, double bytes) {
  struct statvfs status;
  if (::statvfs(parent.c_str(), &status) != 0) return "";
  const double space = static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
  if (space >= bytes) return "";
  char text[80];
  std::snprintf(text, sizeof text, "%.3g MB are free, the run needs %.3g MB", space * 1e-6,
                bytes * 1e-6);
  return text;
}

// Rank 0 finds a new name; ranks of other nodes, which may not see its directory, make their own.
std::string make(int rank, char* path) {
  const bool made =
      rank == 0 ? ::mkdtemp(path) != nullptr : ::mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
  return made ? "" : std::string("cannot write there: ") + std::strerror(errno);
}

}  // namespace

std::string make_temporary_directory(const std::string& option, const std::string& parent,
                                     double bytes) {
  const std::string pattern = parent + "/sesame-XXXXXX";
  const std::string prefix = option + " " + parent + ": ";
  if (count == kMostDirectories || pattern.size() + sizeof kAbandoned > PATH_MAX) {
    throw UsageError(prefix + "the name is too long");
  }
  const int rank = this_rank();
  char* path = directories[count];
  std::memcpy(path, pattern.c_str(), pattern.size() + 1);
  const int size = static_cast<int>(pattern.size());
  count = count + 1;
  handle_signals();
  std::string trouble = rank == 0 ? make(rank, path) : "";
  refuse_if_any(trouble.empty() ? "" : prefix + trouble);
  MPI_Bcast(path, size, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) trouble = make(rank, path);
  if (trouble.empty()) trouble = check_space(parent, bytes);
  refuse_if_any(trouble.empty() ? "" : prefix + trouble);
  return path;
}

void keep_files(const Report& report, const std::string& directory, const std::string& parent) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (this_rank() != 0 || report.verdict() == Report::Verdict::kWrong) return;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  for (const std::string& name : names) rename_file(directory + "/" + name, parent + "/" + name);
}

void remove_temporary_directories() {
  if (count == 0) return;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) remove_directory(directories[i]);
  count = 0;
}

bool abandon_temporary_directories() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  bool first = count == 0;
  for (int i = 0; i < count; ++i) {
    const std::string gone = directories[i] + std::string(kAbandoned);
    // One rank only can do this.
    if (std::rename(directories[i], gone.c_str()) != 0) continue;
    first = true;
    remove_directory(gone.c_str());
  }
  return first;
}

}  // namespace sesame::workload
