// dlsym, dladdr and the like. The dynamic loader does not know the copies, so questions about the
// program's own symbols, addresses and file are answered here. A program that opens the MPI library
// by name gets Sesame's.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/loader/bindings.h"
#include "core/loader/closure.h"
#include "core/loader/files.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/plugins.h"
#include "core/loader/process.h"
#include "core/loader/real.h"
#include "core/loader/resolve.h"
#include "core/loader/threads.h"

namespace sesame::loader {
namespace {

bool is_whole_program(void* handle) {
  static void* const host = REAL(dlopen)(nullptr, RTLD_LAZY);
  return handle == RTLD_DEFAULT || handle == host;
}

uint32_t image_of(const RankProcess& process, const void* address) {
  const CopyLocation place = find_copy(address);
  for (uint32_t i = 0; place.image != nullptr && i < process.bases.size(); ++i)
    if (process.images->images[i].get() == place.image) return i;
  return 0;
}

void* fail_dynamic(RankProcess& process, const std::string& why) {
  plugins_of(process).error = why;
  return nullptr;
}

// The address of a definition in the rank's copy of an image.
void* address_of(const RankProcess& process, uint32_t image, const Elf64_Sym& symbol) {
  const uint64_t address = process.bases[image] + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return thread_local_address(image, symbol.st_value);
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
    return reinterpret_cast<void*>(reinterpret_cast<uint64_t (*)()>(address)());
  return reinterpret_cast<void*>(address);
}

void* find_in_scope(const RankProcess& process, std::span<const uint32_t> scope, const char* name) {
  for (const uint32_t image : scope)
    if (image < process.bases.size() && process.bases[image] != 0)
      if (const Elf64_Sym* symbol = process.images->images[image]->file.find(name))
        return address_of(process, image, *symbol);
  return nullptr;
}

// Searches the images of a handle, then the shared libraries that they need.
void* find_by_handle(const RankProcess& process, const OpenLibrary& library, const char* name) {
  const std::vector<uint32_t> scope = scope_of(process, library.image);
  if (void* own = find_in_scope(process, scope, name)) return own;
  for (const uint32_t image : scope)
    for (const std::string& path : process.images->images[image]->shared)
      if (void* handle = REAL(dlopen)(path.c_str(), RTLD_NOLOAD | RTLD_LAZY)) {
        const bool is_there = REAL(dlsym)(handle, name) != nullptr;
        REAL(dlclose)(handle);
        if (is_there) return find_outside_images(name);
      }
  const bool needs_mpi = std::ranges::any_of(scope, [&](uint32_t image) {
    return std::ranges::any_of(process.images->images[image]->file.needed(),
                               [](const auto& n) { return mpi_family(n) != MpiFamily::kNone; });
  });
  const std::string_view wanted = name;
  const bool is_mpi = wanted.starts_with("MPI") || wanted.starts_with("PMPI");
  return needs_mpi && is_mpi ? find_outside_images(name) : nullptr;
}

void* find_symbol(RankProcess& process, void* handle, const char* name, const void* caller) {
  if (const OpenLibrary* library = opened_library(process, handle)) {
    if (void* found = find_by_handle(process, *library, name)) return found;
    const std::string& path = process.images->images[library->image]->file.path();
    return fail_dynamic(process, path + ": undefined symbol: " + name);
  }
  const std::vector<uint32_t> scope = global_scope(process);
  std::span<const uint32_t> searched = scope;
  if (handle == RTLD_NEXT) {
    const auto own = std::ranges::find(scope, image_of(process, caller));
    searched = own == scope.end() ? searched.subspan(0, 0)
                                  : searched.subspan(static_cast<size_t>(own - scope.begin()) + 1);
  } else if (!is_whole_program(handle)) {
    void* found = REAL(dlsym)(handle, name);
    if (found == nullptr) {
      const char* failure = REAL(dlerror)();  // none for a symbol whose value is null
      return failure == nullptr ? nullptr : fail_dynamic(process, failure);
    }
    // In a library that all ranks share: if the loader has its own version of the function, use
    // that.
    void* bound = REAL(dlsym)(RTLD_DEFAULT, name) == found ? find_outside_images(name) : nullptr;
    return bound == nullptr ? found : bound;
  }
  if (void* own = find_in_scope(process, searched, name)) return own;
  if (void* outside = find_outside_images(name)) return outside;
  return fail_dynamic(process,
                      process.images->images[0]->file.path() + ": undefined symbol: " + name);
}

bool names_own_file(const char* path) {
  return strcmp(path, "/proc/self/exe") == 0 || strcmp(path, "/proc/curproc/file") == 0;
}

const std::string& program_file(const RankProcess& process) {
  return process.images->images[0]->file.path();
}

// What readlink() gives for the program's own file.
ssize_t copy_own_name(const RankProcess& process, char* buffer, size_t size) {
  const std::string& file = program_file(process);
  const size_t count = std::min(size, file.size());
  memcpy(buffer, file.data(), count);
  return static_cast<ssize_t>(count);
}

}  // namespace

extern "C" {

void* rank_dlopen(const char* name, int flags) {
  RankProcess* process = current();
  if (process == nullptr || name == nullptr || *name == '\0')
    return REAL(dlopen)(name == nullptr || *name == '\0' ? nullptr : name, flags);
  if (mpi_family(name) != MpiFamily::kNone) return REAL(dlopen)(nullptr, RTLD_LAZY);
  const uint32_t caller = image_of(*process, __builtin_return_address(0));
  const Result<void*> opened = open_plugin(*process, name, flags, caller);
  if (!opened) return fail_dynamic(*process, opened.error().to_string());
  if (*opened == nullptr && (flags & RTLD_NOLOAD) == 0)
    if (const char* why = REAL(dlerror)()) return fail_dynamic(*process, why);
  return *opened;
}

void* rank_dlmopen(Lmid_t space, const char* name, int flags) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(dlmopen)(space, name, flags);
  if (space == LM_ID_BASE) return rank_dlopen(name, flags);
  return fail_dynamic(*process, std::string(name == nullptr ? "" : name) +
                                    ": dlmopen into another namespace is not supported in a "
                                    "simulation, use dlopen with RTLD_LOCAL");
}

int rank_dlclose(void* handle) {
  RankProcess* process = current();
  OpenLibrary* library = process == nullptr ? nullptr : opened_library(*process, handle);
  if (library == nullptr)
    return process != nullptr && is_whole_program(handle) ? 0 : REAL(dlclose)(handle);
  if (library->count == 0) {
    fail_dynamic(*process, "shared object not open");
    return 1;
  }
  close_plugin(*process, *library);
  return 0;
}

char* rank_dlerror() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(dlerror)();
  if (process->plugins == nullptr || process->plugins->error.empty()) return nullptr;
  process->plugins->given = std::exchange(process->plugins->error, {});
  return process->plugins->given.data();
}

void* rank_dlsym(void* handle, const char* name) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(dlsym)(handle, name);
  return find_symbol(*process, handle, name, __builtin_return_address(0));
}

// Copies have one version of each symbol.
void* rank_dlvsym(void* handle, const char* name, const char* version) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(dlvsym)(handle, name, version);
  if (opened_library(*process, handle) == nullptr)
    if (void* found = REAL(dlvsym)(is_whole_program(handle) ? RTLD_DEFAULT : handle, name, version))
      if (find_outside_images(name) == nullptr) return found;
  return find_symbol(*process, handle, name, __builtin_return_address(0));
}

int rank_dlinfo(void* handle, int request, void* result) {
  RankProcess* process = current();
  const OpenLibrary* library = process == nullptr ? nullptr : opened_library(*process, handle);
  if (library == nullptr) return REAL(dlinfo)(handle, request, result);
  const std::string& path = process->images->images[library->image]->file.path();
  if (request == RTLD_DI_ORIGIN) {
    const std::string origin = path.substr(0, path.rfind('/'));
    memcpy(result, origin.c_str(), origin.size() + 1);
    return 0;
  }
  fail_dynamic(*process, path + ": dlinfo knows only RTLD_DI_ORIGIN in a simulation");
  return -1;
}

int rank_dladdr(const void* address, Dl_info* result) {
  const CopyLocation copy = find_copy(address);
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
  if (process != nullptr && names_own_file(path)) return copy_own_name(*process, buffer, size);
  return SERVES_RANK() ? read_link("readlink", AT_FDCWD, path, buffer, size)
                       : REAL(readlink)(path, buffer, size);
}

GLOBAL_NAME(readlink);

ssize_t rank_readlinkat(int directory, const char* path, char* buffer, size_t size) {
  const RankProcess* process = current();
  if (process != nullptr && names_own_file(path)) return copy_own_name(*process, buffer, size);
  return SERVES_RANK() ? read_link("readlinkat", directory, path, buffer, size)
                       : REAL(readlinkat)(directory, path, buffer, size);
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
  BIND(table, dlmopen);
  BIND(table, dlclose);
  BIND(table, dlerror);
  BIND(table, dlsym);
  BIND(table, dlvsym);
  BIND(table, dlinfo);
  BIND(table, dladdr);
  BIND(table, readlink);
  BIND(table, __readlink_chk);
  BIND(table, readlinkat);
  BIND(table, realpath);
  BIND(table, __realpath_chk);
}

}  // namespace sesame::loader
