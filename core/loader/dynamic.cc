// What a program asks the dynamic loader, which does not know the copies: its own symbols, where an
// address lies, its own file. A program that opens the MPI library by name gets ours.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/closure.h"
#include "core/loader/files.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

bool is_whole_program(void* handle) {
  static void* const host = REAL(dlopen)(nullptr, RTLD_LAZY);
  return handle == RTLD_DEFAULT || handle == RTLD_NEXT || handle == host;
}

void* find_in_copies(const RankProcess& process, const char* name) {
  for (size_t i = 0; i < process.images->images.size(); ++i)
    if (const Elf64_Sym* symbol = process.images->images[i]->file.find(name))
      return reinterpret_cast<void*>(process.bases[i] + symbol->st_value);
  return nullptr;
}

bool names_own_file(const char* path) {
  return strcmp(path, "/proc/self/exe") == 0 || strcmp(path, "/proc/curproc/file") == 0;
}

const std::string& program_file(const RankProcess& process) {
  return process.images->images[0]->file.path();
}

}  // namespace

extern "C" {

void* rank_dlopen(const char* name, int flags) {
  if (current() != nullptr && name != nullptr && mpi_family(name) != MpiFamily::kNone)
    return REAL(dlopen)(nullptr, RTLD_LAZY);
  return REAL(dlopen)(name, flags);
}

void* rank_dlsym(void* handle, const char* name) {
  const RankProcess* process = current();
  if (process == nullptr || !is_whole_program(handle)) return REAL(dlsym)(handle, name);
  if (handle != RTLD_NEXT)
    if (void* own = find_in_copies(*process, name)) return own;
  static const auto bindings = all_bindings();
  if (const auto binding = bindings.find(name); binding != bindings.end()) return binding->second;
  return REAL(dlsym)(RTLD_DEFAULT, name);
}

int rank_dladdr(const void* address, Dl_info* result) {
  const CopyPlace copy = find_copy(address);
  if (copy.image == nullptr) return REAL(dladdr)(address, result);
  *result = {};
  result->dli_fname = copy.image->file.path().c_str();
  result->dli_fbase = reinterpret_cast<void*>(copy.base + copy.image->begin);
  uint64_t offset = 0;
  result->dli_sname =
      copy.image->file.nearest_function(reinterpret_cast<uint64_t>(address) - copy.base, &offset);
  if (result->dli_sname != nullptr)
    result->dli_saddr = const_cast<char*>(static_cast<const char*>(address)) - offset;
  return 1;
}

ssize_t rank_readlink(const char* path, char* buffer, size_t size) {
  const RankProcess* process = current();
  if (process == nullptr || !names_own_file(path))
    return SERVES_RANK() ? read_link("readlink", AT_FDCWD, path, buffer, size)
                         : REAL(readlink)(path, buffer, size);
  const std::string& file = program_file(*process);
  const size_t count = std::min(size, file.size());
  memcpy(buffer, file.data(), count);
  return static_cast<ssize_t>(count);
}

GLOBAL_NAME(readlink);

ssize_t rank_readlinkat(int directory, const char* path, char* buffer, size_t size) {
  if (!SERVES_RANK()) return REAL(readlinkat)(directory, path, buffer, size);
  return read_link("readlinkat", directory, path, buffer, size);
}

ssize_t rank___readlink_chk(const char* path, char* buffer, size_t size, size_t) {
  return rank_readlink(path, buffer, size);
}

char* rank_realpath(const char* path, char* resolved) {
  const RankProcess* process = current();
  if (process == nullptr || path == nullptr || !names_own_file(path))
    return SERVES_RANK() && path != nullptr ? real_path(path, resolved)
                                            : REAL(realpath)(path, resolved);
  return REAL(realpath)(program_file(*process).c_str(), resolved);
}

GLOBAL_NAME(realpath);

char* rank___realpath_chk(const char* path, char* resolved, size_t) {
  return rank_realpath(path, resolved);
}

}  // extern "C"

void bind_dynamic(BindingTable& table) {
  BIND(table, dlopen);
  BIND(table, dlsym);
  BIND(table, dladdr);
  BIND(table, readlink);
  BIND(table, __readlink_chk);
  BIND(table, readlinkat);
  BIND(table, realpath);
  BIND(table, __realpath_chk);
}

}  // namespace sesame::loader
