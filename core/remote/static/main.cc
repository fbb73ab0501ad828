// sesame-static-rank: becomes a statically linked MPI program that is a rank. Such a program loads
// no library, so this one does, puts the program into its own memory, makes its functions jump to
// those of the libraries, and gives it the processor. Arguments and environment are the program's;
// SESAME_STATIC_PROGRAM is its path. Exit status 2, with a message: it cannot be started.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/loader/static_interface.h"
#include "core/remote/program/connection.h"
#include "core/remote/program/static_switch.h"
#include "core/remote/static/calls.h"
#include "core/remote/static/image.h"
#include "core/remote/static/patches.h"
#include "core/remote/wire.h"

namespace sesame::remote {
namespace {

template <typename T>
T require(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "sesame: %s\n", result.error().to_string().c_str());
    _exit(2);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::string variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// FS and GS base must be a program's own to change (HWCAP2_FSGSBASE, <asm/hwcap2.h>).
Result<> check_kernel() {
  constexpr unsigned long kMayChangeBases = 1UL << 1;
  if ((getauxval(AT_HWCAP2) & kMayChangeBases) != 0) return {};
  return error(
      "this processor or kernel cannot run statically linked programs: FSGSBASE is missing",
      "use Linux 5.9 or newer, or link the program without -static");
}

std::vector<Elf64_auxv_t> auxiliary_vector(char** environment) {
  while (*environment != nullptr) ++environment;
  std::vector<Elf64_auxv_t> entries;
  for (auto* entry = reinterpret_cast<Elf64_auxv_t*>(environment + 1); entry->a_type != AT_NULL;
       ++entry)
    entries.push_back(*entry);
  return entries;
}

// The library that has this function, and where it begins.
Dl_info library_of(void (*function)()) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(function), &info);
  return info;
}

Result<uint64_t> load(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return error(dlerror());
  return map->l_addr;
}

// Functions within functions are called by code on the stack.
void make_stack_executable(const loader::ElfFile& program) {
  const Elf64_Phdr* const stack = program.segment(PT_GNU_STACK);
  if (stack != nullptr && (stack->p_flags & PF_X) == 0) return;
  char* const page = reinterpret_cast<char*>(reinterpret_cast<uint64_t>(&stack) & -uint64_t{4096});
  mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC | PROT_GROWSDOWN);
}

struct Prepared {
  StaticImage image;
  std::vector<uint64_t> stack;
  const void* at_exit;
};

// `path` is there as long as the program runs. Files are closed when this returns.
Prepared prepare(const std::string& path, char** arguments,
                 const std::vector<Elf64_auxv_t>& auxiliary) {
  const loader::ElfFile program = require(loader::ElfFile::open(path));
  const StaticSymbols symbols(program);
  const Dl_info calls = library_of(sesame_static_enter);
  const loader::ElfFile calls_file = require(loader::ElfFile::open(calls.dli_fname));
  const std::string mpi = variable(kLibrariesVariable) + "/libsesame-rank-mpich.so";
  const loader::ElfFile mpi_file = require(loader::ElfFile::open(mpi));
  const OwnLibrary own{calls_file, reinterpret_cast<uint64_t>(calls.dli_fbase)};
  const StaticPatches patches(symbols, own_functions(), own, mpi_file);
  const StaticImage image = require(StaticImage::map(program, patches.space()));
  sesame_rank_start_switching(require(errno_offset(symbols, program)));
  make_stack_executable(program);
  const uint64_t mpi_base = require(load(mpi));  // now this is the rank
  const auto on_memory = [image, patches, mpi_base] { patches.copy_constants(image, mpi_base); };
  require(use({path, on_memory}, symbols, image));
  StaticPatches::Entry at_exit{reinterpret_cast<const void*>(end_program), nullptr};
  require(patches.apply(program, image, mpi_base, &at_exit));
  require(image.protect());
  return {image, image.initial_stack(arguments, environ, auxiliary, path), at_exit.entry};
}

// A script may start any program in this way (program/exec_calls.cc): one without MPI is executed
// as it is.
void check_program(const std::string& path, char** arguments) {
  const loader::ElfFile program = require(loader::ElfFile::open(path));
  if (loader::defines_mpi(program)) {
    require(loader::static_interface(path, program));
    return require(check_kernel());
  }
  syscall(SYS_execve, path.c_str(), arguments, environ);
  require(Result<>(error("cannot execute '" + path + "': " + strerror(errno))));
}

[[noreturn]] void run(const std::string& path, char** arguments, char** environment) {
  const auto auxiliary = auxiliary_vector(environment);
  unsetenv(kStaticProgramVariable);
  check_program(path, arguments);
  prctl(PR_SET_NAME, path.substr(path.rfind('/') + 1).c_str());
  const Prepared& prepared = *new Prepared(prepare(path, arguments, auxiliary));
  sesame_rank_begin_computing();
  prepared.image.start(prepared.stack, prepared.at_exit);
}

}  // namespace
}  // namespace sesame::remote

int main(int, char** arguments, char** environment) {
  using namespace sesame::remote;
  const std::string given = variable(kStaticProgramVariable);
  char path[PATH_MAX];
  if (!given.empty() && realpath(given.c_str(), path) != nullptr)
    run(*new std::string(path), arguments, environment);
  std::fputs("sesame-static-rank is started by sesame simulate\n", stderr);
  return 2;
}
