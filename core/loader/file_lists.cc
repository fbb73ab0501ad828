// Directories on simulated file systems: their streams show what the mount shows, in order of
// name, as it was when the directory was opened.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "core/base/undestroyed.h"
#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

struct FileList {
  int fd = -1;
  ResolvedPath directory;
  std::vector<std::string> names;
  size_t next = 0;
  dirent entry{};
};
Undestroyed<std::unordered_map<DIR*, std::unique_ptr<FileList>>> g_lists;

FileList* find_list(DIR* stream) {
  if (g_lists->empty()) return nullptr;
  const TableLock lock;
  const auto found = g_lists->find(stream);
  return found == g_lists->end() ? nullptr : found->second.get();
}

std::vector<std::string> names_of(const ResolvedPath& directory) {
  const HostScope host;
  std::vector<std::string> names = mounts().list(directory);
  names.insert(names.end(), {".", ".."});
  std::ranges::sort(names);
  return names;
}

DIR* list_of(int fd) {
  const std::shared_ptr<OpenFile> open = keep_open(fd);
  if (open == nullptr) {
    errno = EBADF;
    return nullptr;
  }
  auto list = std::make_unique<FileList>();
  list->fd = fd;
  list->directory = open->path();
  list->names = names_of(list->directory);
  auto* stream = reinterpret_cast<DIR*>(list.get());
  const TableLock lock;
  (*g_lists)[stream] = std::move(list);
  return stream;
}

dirent* next_entry(FileList& list) {
  if (list.next == list.names.size()) return nullptr;
  const std::string& name = list.names[list.next++];
  struct stat status {};
  ResolvedPath found;
  {
    const HostScope host;
    found = mounts().resolve(list.directory.name + "/" + name, list.directory.node, false);
  }
  REAL(lstat)(found.host_path.c_str(), &status);
  list.entry.d_ino = status.st_ino;
  list.entry.d_off = static_cast<off_t>(list.next);
  list.entry.d_type = IFTODT(status.st_mode);
  list.entry.d_reclen = sizeof list.entry;
  strncpy(list.entry.d_name, name.c_str(), sizeof list.entry.d_name - 1);
  return &list.entry;
}

DIR* open_list(int directory, const char* path) {
  const int fd = open_path("opendir", directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  return open_file(fd) != nullptr ? list_of(fd) : REAL(fdopendir)(fd);
}

int close_list(DIR* stream) {
  const int fd = find_list(stream)->fd;
  {
    const TableLock lock;
    g_lists->erase(stream);
  }
  return close_descriptor(fd);
}

using Choice = int (*)(const dirent*);
using EntryOrder = int (*)(const dirent**, const dirent**);

int scan(int directory, const char* path, dirent*** result, Choice chosen, EntryOrder order) {
  DIR* stream = open_list(directory, path);
  if (stream == nullptr) return -1;
  FileList& list = *find_list(stream);
  std::vector<dirent*> found;
  while (const dirent* entry = next_entry(list)) {
    if (chosen != nullptr && chosen(entry) == 0) continue;
    auto* copy = static_cast<dirent*>(malloc(sizeof(dirent)));
    *copy = *entry;
    found.push_back(copy);
  }
  close_list(stream);
  if (order != nullptr) {
    std::ranges::stable_sort(
        found, [order](const dirent* a, const dirent* b) { return order(&a, &b) < 0; });
  }
  *result = static_cast<dirent**>(malloc(std::max<size_t>(1, found.size()) * sizeof(dirent*)));
  std::ranges::copy(found, *result);
  return static_cast<int>(found.size());
}

int scan_path(int directory, const char* path, dirent*** result, Choice chosen, EntryOrder order) {
  const ResolvedPath found = resolve(directory, path, true);
  if (found.is_simulated()) return scan(directory, path, result, chosen, order);
  if (found.error != 0) return REAL(scandirat)(directory, path, result, chosen, order);
  return REAL(scandir)(found.host_path.c_str(), result, chosen, order);
}

}  // namespace

extern "C" {

DIR* rank_opendir(const char* path) {
  return SERVES_RANK() ? open_list(AT_FDCWD, path) : REAL(opendir)(path);
}
GLOBAL_NAME(opendir);

DIR* rank_fdopendir(int fd) { return open_file(fd) != nullptr ? list_of(fd) : REAL(fdopendir)(fd); }
GLOBAL_NAME(fdopendir);

dirent* rank_readdir(DIR* stream) {
  FileList* list = find_list(stream);
  return list != nullptr ? next_entry(*list) : REAL(readdir)(stream);
}
GLOBAL_NAME(readdir);
GLOBAL_NAME_AS(readdir64, readdir);

// Deprecated in the C library, and still called.
int rank_readdir_r(DIR* stream, dirent* entry, dirent** result) {
  FileList* list = find_list(stream);
  if (list == nullptr) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return REAL(readdir_r)(stream, entry, result);
#pragma GCC diagnostic pop
  }
  const dirent* const next = next_entry(*list);
  *result = next == nullptr ? nullptr : entry;
  if (next != nullptr) *entry = *next;
  return 0;
}

int rank_closedir(DIR* stream) {
  return find_list(stream) != nullptr ? close_list(stream) : REAL(closedir)(stream);
}
GLOBAL_NAME(closedir);

int rank_dirfd(DIR* stream) {
  const FileList* list = find_list(stream);
  return list != nullptr ? list->fd : REAL(dirfd)(stream);
}
GLOBAL_NAME(dirfd);

void rank_rewinddir(DIR* stream) {
  FileList* list = find_list(stream);
  if (list == nullptr) return REAL(rewinddir)(stream);
  list->names = names_of(list->directory);
  list->next = 0;
}

long rank_telldir(DIR* stream) {
  const FileList* list = find_list(stream);
  return list != nullptr ? static_cast<long>(list->next) : REAL(telldir)(stream);
}

void rank_seekdir(DIR* stream, long place) {
  FileList* list = find_list(stream);
  if (list == nullptr) return REAL(seekdir)(stream, place);
  list->next = std::min(static_cast<size_t>(place), list->names.size());
}

int rank_scandir(const char* path, dirent*** result, Choice chosen, EntryOrder order) {
  if (!SERVES_RANK()) return REAL(scandir)(path, result, chosen, order);
  return scan_path(AT_FDCWD, path, result, chosen, order);
}
int rank_scandirat(int directory, const char* path, dirent*** result, Choice chosen,
                   EntryOrder order) {
  if (!SERVES_RANK()) return REAL(scandirat)(directory, path, result, chosen, order);
  return scan_path(directory, path, result, chosen, order);
}

int rank_stat(const char* path, struct stat* result);
int rank_lstat(const char* path, struct stat* result);

// The C library's functions, with directory functions of the loader.
int rank_glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* found) {
  if (!SERVES_RANK() || (flags & GLOB_ALTDIRFUNC) != 0)
    return REAL(glob)(pattern, flags, on_error, found);
  found->gl_opendir = [](const char* path) -> void* { return open_list(AT_FDCWD, path); };
  found->gl_readdir = [](void* stream) { return rank_readdir(static_cast<DIR*>(stream)); };
  found->gl_closedir = [](void* stream) { rank_closedir(static_cast<DIR*>(stream)); };
  found->gl_stat = rank_stat;
  found->gl_lstat = rank_lstat;
  return REAL(glob)(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);
}

}  // extern "C"

void bind_file_lists(BindingTable& table) {
  BIND(table, opendir);
  BIND(table, fdopendir);
  BIND(table, readdir);
  BIND_AS(table, "readdir64", readdir);
  BIND(table, readdir_r);
  BIND_AS(table, "readdir64_r", readdir_r);
  BIND(table, closedir);
  BIND(table, dirfd);
  BIND(table, rewinddir);
  BIND(table, telldir);
  BIND(table, seekdir);
  BIND(table, glob);
  BIND_AS(table, "glob64", glob);
  BIND(table, scandir);
  BIND_AS(table, "scandir64", scandir);
  BIND(table, scandirat);
  BIND_AS(table, "scandirat64", scandirat);
}

}  // namespace sesame::loader
