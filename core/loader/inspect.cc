#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "core/loader/closure.h"
#include "core/loader/elf_file.h"
#include "core/loader/images.h"
#include "core/loader/loader.h"
#include "core/loader/static_interface.h"

namespace sesame::loader {
namespace {

std::string quoted(const std::string& text) { return "'" + text + "'"; }

Result<std::string> find_on_path(const std::string& name) {
  const char* path = getenv("PATH");
  const std::string directories = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  bool unusable = false;
  for (size_t begin = 0; begin <= directories.size();) {
    const size_t end = std::min(directories.find(':', begin), directories.size());
    std::string directory = directories.substr(begin, end - begin);
    if (directory.empty()) directory = ".";
    const std::string candidate = directory + "/" + name;
    struct stat status;
    if (stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      if (access(candidate.c_str(), X_OK) == 0) return candidate;
      unusable = true;
    }
    begin = end + 1;
  }
  if (unusable) return error(quoted(name) + " is on PATH but is not executable", "chmod +x it");
  struct stat status;
  const bool here = stat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return error("no program " + quoted(name) + " on PATH",
               here ? "to run the file in this directory, write ./" + name
                    : "give its path, or install the package that contains it");
}

// What to do about a file that may not be executed.
std::string way_to_execute(const std::string& name) {
  const size_t dot = name.rfind('.');
  const std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
  for (const char* of_source : {".c", ".cc", ".cpp", ".cxx", ".C", ".f", ".f90", ".F90", ".f08"})
    if (suffix == of_source) return "name the program that mpicc or its like makes of this source";
  return "chmod +x " + name;
}

Result<std::string> find_program(const std::string& name) {
  if (name.empty()) return error("the program's name is empty");
  std::string path = name;
  if (name.find('/') == std::string::npos) {
    Result<std::string> found = find_on_path(name);
    if (!found) return found;
    path = *found;
  }
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr)
    return error("no program " + quoted(name) + ": " + strerror(errno));
  struct stat status;
  if (stat(resolved, &status) != 0)
    return error("no program " + quoted(name) + ": " + strerror(errno));
  if (S_ISDIR(status.st_mode)) return error(quoted(name) + " is a directory, expected a program");
  if (access(resolved, X_OK) != 0)
    return error(quoted(name) + " is not executable", way_to_execute(name));
  return std::string(resolved);
}

// The first line of a script; empty: it is none.
std::string script_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char mark[2] = {};
  std::string line;
  if (!file.read(mark, 2) || mark[0] != '#' || mark[1] != '!') return {};
  std::getline(file, line);
  return "#!" + line;
}

Result<> refuse_script(const std::string& name, const std::string& path) {
  const std::string line = script_line(path);
  if (line.empty()) return {};
  return error(quoted(name) + " is a script (" + line + "), expected an MPI program in binary form",
               "name the program that the script starts");
}

// What is no program, or one that processes cannot run either.
Result<> refuse_foreign(const std::string& name, const ElfFile& file) {
  const uint16_t type = file.header().e_type;
  if (type != ET_EXEC && type != ET_DYN)
    return error(quoted(name) + " is an object or core file, expected a linked program");
  if (file.interpreter().empty()) {
    if (type == ET_DYN && file.has_dynamic_section() && !file.dynamic(DT_DEBUG))
      return error(quoted(name) + " is a shared library, expected a program");
    const Result<BinaryInterface> interface = static_interface(name, file);
    return interface ? Result<>() : std::unexpected(interface.error());
  }
  if (file.interpreter().find("ld-linux") == std::string::npos)
    return error(quoted(name) + " is built for another C library (" + file.interpreter() +
                     "), expected the GNU C library",
                 "rebuild it on a GNU/Linux system");
  return {};
}

Result<> refuse_unloadable(const std::string& name, const ElfFile& file) {
  if (Result<> usable = refuse_foreign(name, file); !usable) return usable;
  if (file.interpreter().empty())
    return error(quoted(name) + " is statically linked, so it cannot be copied",
                 "let its ranks be processes, or relink it without -static");
  if (file.header().e_type == ET_EXEC)
    return error(quoted(name) +
                     " is not position-independent, so it can be loaded only once, "
                     "expected a position-independent executable",
                 "compile with -fPIE and relink with -pie (gcc's default; drop -no-pie)");
  if (file.find("malloc") != nullptr)
    return error(quoted(name) +
                     " brings its own malloc, which all ranks' libraries would mix "
                     "with the C library's",
                 "relink it without the allocator");
  return {};
}

// "libmpi.so.40", or "libmpi.so.40 for libfoo.so"; empty: none of this family.
std::string first_of(MpiFamily family, const Closure& closure) {
  const auto found = std::ranges::find(closure.mpi_libraries, family, mpi_family);
  if (found == closure.mpi_libraries.end()) return {};
  const std::string& user =
      closure.mpi_users[static_cast<size_t>(found - closure.mpi_libraries.begin())];
  return user.empty() ? *found : *found + " for " + user;
}

constexpr struct {
  MpiFamily family;
  BinaryInterface interface;
  const char* name;
} kFamilies[] = {
    {MpiFamily::kMpich, BinaryInterface::kMpich, "MPICH's binary interface"},
    {MpiFamily::kMpiStandard, BinaryInterface::kMpiStandard, "the MPI standard's"},
    {MpiFamily::kOpenMpi, BinaryInterface::kOpenMpi, "Open MPI's"},
};

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<> refuse_missing(const std::string& name, const Closure& closure) {
  if (closure.missing.empty()) return {};
  return error(
      quoted(name) + " needs shared libraries that are not found: " + join(closure.missing),
      "install them, or set LD_LIBRARY_PATH to where they are");
}

Result<BinaryInterface> decide_interface(const std::string& name, const Closure& closure) {
  const std::string old = first_of(MpiFamily::kOldOpenMpi, closure);
  const std::string mpich = first_of(MpiFamily::kMpich, closure);
  const bool is_old = !old.empty() || (!mpich.empty() && closure.names_open_mpi_handles &&
                                       first_of(MpiFamily::kOpenMpi, closure).empty());
  if (is_old)
    return error(quoted(name) + " is linked to Open MPI 3 or older (" +
                     (old.empty() ? mpich : old) + "), expected Open MPI 4 or newer",
                 "rebuild it with Open MPI 4 or 5, or with MPICH");
  const std::remove_extent_t<decltype(kFamilies)>* one = nullptr;
  for (const auto& family : kFamilies) {
    const std::string library = first_of(family.family, closure);
    if (library.empty()) continue;
    if (one != nullptr)
      return error(quoted(name) + " needs both " + one->name + " and " + family.name + " (" +
                       first_of(one->family, closure) + ", " + library + ")",
                   "rebuild it and its libraries with one MPI compiler");
    one = &family;
  }
  if (one == nullptr) {
    // A library that is missing may be the one that needs MPI.
    if (Result<> complete = refuse_missing(name, closure); !complete)
      return std::unexpected(complete.error());
    return error(quoted(name) + " is not an MPI program: no MPI library among those it needs",
                 "build it with an MPI compiler, for instance mpicc");
  }
  return one->interface;
}

// Sanitizer runtimes must be the first library of the process and support one program only.
Result<> refuse_sanitizers(const std::string& name, const Closure& closure) {
  for (const Library& library : closure.libraries)
    for (const char* prefix : {"libasan.", "libtsan.", "liblsan.", "libmsan."})
      if (library.name.starts_with(prefix))
        return error(quoted(name) + " is built with a sanitizer (" + library.name +
                         "), which watches one program per process",
                     "rebuild it without -fsanitize");
  return {};
}

}  // namespace

Result<> check_same_mpi(const Closure& plugin, const std::string& path, BinaryInterface interface) {
  for (const auto& family : kFamilies) {
    const std::string library = first_of(family.family, plugin);
    if (library.empty() || family.interface == interface) continue;
    return error(path + ": needs " + family.name + " (" + library +
                 "), which is not the MPI of the program");
  }
  return {};
}

const char* name_of(BinaryInterface interface) {
  switch (interface) {
    case BinaryInterface::kMpich:
      return "mpich";
    case BinaryInterface::kMpiStandard:
      return "mpiabi";
    case BinaryInterface::kOpenMpi:
      return "openmpi";
  }
  return "";
}

Result<Program> inspect_program(const std::string& name, const InspectOptions& options) {
  const Result<std::string> path = find_program(name);
  if (!path) return std::unexpected(path.error());
  if (Result<> script = refuse_script(name, *path); !script) return std::unexpected(script.error());
  const Result<ElfFile> file = ElfFile::open(*path);
  if (!file) return std::unexpected(file.error());
  if (Result<> usable = refuse_unloadable(name, *file); !usable)
    return std::unexpected(usable.error());
  Result<Closure> closure = find_closure(*file, file->interpreter(), options.private_libraries);
  if (!closure) return std::unexpected(closure.error());
  const Result<BinaryInterface> interface = decide_interface(name, *closure);
  if (!interface) return std::unexpected(interface.error());
  if (Result<> complete = refuse_missing(name, *closure); !complete)
    return std::unexpected(complete.error());
  if (Result<> refused = refuse_sanitizers(name, *closure); !refused)
    return std::unexpected(refused.error());
  Program program;
  program.name = name;
  program.path = *path;
  program.interface = *interface;
  program.private_patterns = options.private_libraries;
  program.mpi_libraries = std::move(closure->mpi_libraries);
  program.libraries = std::move(closure->libraries);
  const Elf64_Phdr* stack = file->segment(PT_GNU_STACK);
  program.executable_stack = stack == nullptr || (stack->p_flags & PF_X) != 0;
  const Result<int> mappings = count_mappings(program);
  if (!mappings) return std::unexpected(mappings.error());
  program.mappings_per_rank = *mappings;
  return program;
}

namespace {

// Programs that load or start what their arguments name. A version may follow: python3.13; and of
// statically linked ones that they are: bash-static, busybox.static.
constexpr std::string_view kInterpreters[] = {"python", "pypy", "julia", "perl", "ruby", "R"};
constexpr std::string_view kStarters[] = {"bash",    "dash",   "env",     "ksh",     "nice",
                                          "numactl", "sh",     "time",    "timeout", "zsh",
                                          "taskset", "stdbuf", "setarch", "busybox"};

bool is_one_of(std::span<const std::string_view> names, std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kStatic = "-static";
  if (file.ends_with(kStatic) || file.ends_with(".static")) file.remove_suffix(kStatic.size());
  const std::string_view name = file.substr(0, file.find_last_not_of("0123456789.-") + 1);
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<ProcessProgram> inspect_for_processes(const std::string& name) {
  const Result<std::string> path = find_program(name);
  if (!path) return std::unexpected(path.error());
  if (!script_line(*path).empty()) return ProcessProgram{*path, {}};
  const Result<ElfFile> file = ElfFile::open(*path);
  if (!file) return std::unexpected(file.error());
  // What a statically linked shell starts need not be so.
  const bool is_static = file->interpreter().empty();
  if (is_static && is_one_of(kStarters, *path) && !static_interface(name, *file))
    return ProcessProgram{*path, {}};
  if (Result<> usable = refuse_foreign(name, *file); !usable)
    return std::unexpected(usable.error());
  if (is_static) return ProcessProgram{*path, *static_interface(name, *file), true};
  Result<Closure> closure = find_closure(*file, file->interpreter(), {});
  if (!closure) return std::unexpected(closure.error());
  if (Result<> complete = refuse_missing(name, *closure); !complete)
    return std::unexpected(complete.error());
  if (Result<> refused = refuse_sanitizers(name, *closure); !refused)
    return std::unexpected(refused.error());
  if (closure->mpi_libraries.empty()) return ProcessProgram{*path, {}};
  const Result<BinaryInterface> interface = decide_interface(name, *closure);
  if (!interface) return std::unexpected(interface.error());
  return ProcessProgram{*path, *interface};
}

std::string reason_for_processes(const std::string& name) {
  const Result<std::string> path = find_program(name);
  if (!path) return {};
  if (!script_line(*path).empty()) return "it is a script";
  const std::string file_name = path->substr(path->rfind('/') + 1);
  const bool loads_mpi = is_one_of(kInterpreters, file_name);
  const bool starts_programs = is_one_of(kStarters, file_name);
  const Result<ElfFile> file = ElfFile::open(*path);
  if (!file) return {};
  if (file->interpreter().empty()) {
    if (static_interface(name, *file)) return "it is statically linked";
    if (!starts_programs) return {};
  }
  const bool is_fixed = file->header().e_type == ET_EXEC;
  if (!loads_mpi && !starts_programs && !is_fixed && file->find("malloc") == nullptr) return {};
  const Result<ProcessProgram> program = inspect_for_processes(name);
  const bool needs_mpi = program && program->interface;
  // A program of such a name may itself be the MPI program.
  if (loads_mpi && !needs_mpi) return file_name + " loads MPI while it runs";
  if (starts_programs && !needs_mpi) return file_name + " starts the program";
  if (!needs_mpi || (!is_fixed && file->find("malloc") == nullptr)) return {};
  return is_fixed ? "it is not position-independent" : "it brings its own malloc";
}

namespace {

// In C and Fortran, also by the profiling interface.
bool calls(const std::string& path, const char* function) {
  const Result<ElfFile> file = ElfFile::open(path);
  return file && std::ranges::any_of(file->symbols(), [&](const Elf64_Sym& symbol) {
           return strcasestr(file->name_of(symbol), function) != nullptr;
         });
}

}  // namespace

bool may_ask_for_threads(const std::string& path) { return calls(path, "MPI_Init_thread"); }

Result<> check_mapping_limit(const Program& program, int ranks, int mappings_per_stack) {
  std::ifstream file("/proc/sys/vm/max_map_count");
  int64_t limit = 0;
  if (!(file >> limit)) return {};  // unknown: mmap() will fail instead
  constexpr int64_t kOwn = 1000;    // the simulator's own libraries, heap and buffers
  const int64_t needed = int64_t{ranks} * (program.mappings_per_rank + mappings_per_stack) + kOwn;
  if (needed <= limit) return {};
  const int64_t most = (limit - kOwn) / (program.mappings_per_rank + mappings_per_stack);
  return error(std::to_string(ranks) + " ranks of " + quoted(program.name) +
                   " in one process need " + std::to_string(needed) +
                   " memory mappings, but the kernel's limit " + "vm.max_map_count is " +
                   std::to_string(limit) + " (enough for " +
                   std::to_string(std::max<int64_t>(most, 0)) + " ranks)",
               "as root: sysctl -w vm.max_map_count=" + std::to_string(needed + needed / 4));
}

}  // namespace sesame::loader
