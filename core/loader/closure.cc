#include "core/loader/closure.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>

namespace sesame::loader {
namespace {

// Without directory: DT_NEEDED may hold a path.
bool matches(const char* pattern, std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);
  return fnmatch(pattern, std::string(name).c_str(), 0) == 0;
}

template <size_t N>
bool matches_any(const std::array<const char*, N>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const char* p) { return matches(p, name); });
}

// Libraries known to keep state that belongs to one process: unit tables, handle tables.
constexpr std::array kStateful = {
    "libgfortran.so*", "libmpichfort*", "libmpifort*", "libmpi_usempi*", "libmpi_cxx*",
    "libhdf5*",        "libnetcdf*",    "libpnetcdf*", "libifcore*",     "libifport*",
    "libnvf*",         "libpgf90*",     "libflang*"};

// Libraries that exist once in a process; the loader treats each of their variables separately.
constexpr std::array kSystem = {"libc.so*",       "libm.so*",    "libstdc++.so*", "libgcc_s.so*",
                                "libpthread.so*", "librt.so*",   "libdl.so*",     "libgomp.so*",
                                "libresolv.so*",  "libutil.so*", "libmvec.so*"};

// Libraries that start threads of their own, and need a stateful library (libgfortran) only for
// their error messages: one copy serves all ranks.
constexpr std::array kShared = {"libopenblas*", "libmkl_*", "libblis*"};

constexpr std::array kOpenMpi = {"libmpi.so.40*", "libmpi_mpifh.so.40*", "libopen-rte.so.40*",
                                 "libopen-pal.so.40*", "libopen-pal.so.80*"};
constexpr std::array kOldOpenMpi = {"libmpi.so.20*", "libmpi.so.1", "libopen-rte.so*",
                                    "libopen-pal.so*"};
constexpr std::array kStandard = {"libmpi_abi.so*"};
constexpr std::array kMpich = {"libmpi.so.12*",     "libmpi.so.0",     "libmpi.so",
                               "libmpich.so*",      "libmpi_cray.so*", "libmpi_gnu*.so*",
                               "libmpi_intel*.so*", "libpmpich.so*"};
// Of MPICH, in Debian and elsewhere, and of Open MPI.
constexpr std::array kFortranLayers = {"libmpichfort*.so*", "libmpifort*.so*", "libmpi_mpifh*.so*",
                                       "libmpi_usempi*.so*"};

struct Node {
  std::string name;
  std::string path;
  std::vector<std::string> needed;
  bool is_private = false;
};

bool needs_mpi(const ElfFile& file) {
  return std::ranges::any_of(
      file.needed(), [](const std::string& name) { return mpi_family(name) != MpiFamily::kNone; });
}

bool has_open_mpi_handles(const ElfFile& file) {
  return std::ranges::any_of(file.symbols(), [&](const Elf64_Sym& symbol) {
    return strncmp(file.name_of(symbol), "ompi_mpi_", 9) == 0;
  });
}

bool is_stateful(const std::string& name, const std::vector<std::string>& patterns) {
  if (matches_any(kStateful, name)) return true;
  return std::ranges::any_of(patterns,
                             [&](const std::string& p) { return matches(p.c_str(), name); });
}

// The variables of libraries that the program holds itself (R_X86_64_COPY).
std::set<std::string> copied_variables(const ElfFile& program) {
  std::set<std::string> names;
  for (const Relocation& relocation : program.relocations())
    if (relocation.type == R_X86_64_COPY && relocation.symbol < program.symbols().size())
      names.insert(program.name_of(program.symbols()[relocation.symbol]));
  return names;
}

// A library with variables in the program's storage must use those of each rank, so it is private.
bool defines_any(const ElfFile& library, const std::set<std::string>& names) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return library.find(name) != nullptr; });
}

// What needs MPI or a private library is itself private: it must call the rank's copy.
void mark_private(std::vector<Node>& nodes, const std::vector<std::string>& patterns) {
  std::map<std::string, Node*> by_name;
  for (Node& node : nodes) {
    by_name[node.name] = &node;
    node.is_private = node.is_private || is_stateful(node.name, patterns);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Node& node : nodes) {
      if (node.is_private || matches_any(kShared, node.name)) continue;
      node.is_private = std::ranges::any_of(node.needed, [&](const std::string& name) {
        const auto entry = by_name.find(name);
        return mpi_family(name) != MpiFamily::kNone ||
               (entry != by_name.end() && entry->second->is_private);
      });
      changed |= node.is_private;
    }
  }
}

// Reads until the pipe is closed. False if nothing happens for a minute: then the dynamic loader is
// in an endless loop, which a damaged file can cause.
bool read_answer(int descriptor, std::string& text) {
  constexpr int kPatienceMs = 60'000;
  char buffer[4096];
  for (;;) {
    pollfd ready = {descriptor, POLLIN, 0};
    const int result = poll(&ready, 1, kPatienceMs);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return false;
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count <= 0) return true;
    text.append(buffer, static_cast<size_t>(count));
  }
}

Result<std::string> run_and_read(const std::string& loader, const std::string& program,
                                 const std::string& preloaded) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error(std::string("cannot open a pipe: ") + strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<std::string> words = {loader, program};
  // Not the option --list, which stops at the first missing library.
  std::vector<std::string> variables = {"LD_TRACE_LOADED_OBJECTS=1"};
  if (!preloaded.empty()) variables.push_back("LD_PRELOAD=" + preloaded);
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (strncmp(*variable, "LD_PRELOAD=", 11) != 0) variables.emplace_back(*variable);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  pid_t child;
  const int failure = posix_spawn(&child, loader.c_str(), &actions, nullptr, pointers(words).data(),
                                  pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  const bool is_complete = failure == 0 && read_answer(ends[0], text);
  close(ends[0]);
  if (failure != 0)
    return error("cannot run the dynamic loader '" + loader + "' of '" + program +
                 "': " + strerror(failure));
  if (!is_complete) kill(child, SIGKILL);
  int status;
  waitpid(child, &status, 0);
  if (!is_complete)
    return error("the dynamic loader '" + loader + "' does not finish with '" + program +
                     "', which may be damaged",
                 "try: LD_TRACE_LOADED_OBJECTS=1 " + loader + " " + program);
  return text;
}

// "<tab>name => path (0x…)", "<tab>name => not found", "<tab>/path (0x…)".
void parse_line(std::string_view line, std::vector<std::pair<std::string, std::string>>& out) {
  if (line.empty() || line[0] != '\t') return;
  line.remove_prefix(1);
  const size_t arrow = line.find(" => ");
  if (arrow == std::string_view::npos) {
    const std::string_view path = line.substr(0, line.find(" ("));
    if (!path.empty() && path[0] == '/') {
      out.emplace_back(path.substr(path.rfind('/') + 1), path);
      out.emplace_back(path, path);  // also when DT_NEEDED holds a path
    }
    return;
  }
  const std::string_view name = line.substr(0, arrow);
  std::string_view path = line.substr(arrow + 4);
  path = path.substr(0, path.find(" (0x"));
  if (path.empty() || path[0] != '/') path = {};
  out.emplace_back(name, path);
}

std::string_view without_directory(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

MpiFamily mpi_family(std::string_view library_name) {
  library_name = without_directory(library_name);
  if (matches_any(kOpenMpi, library_name)) return MpiFamily::kOpenMpi;
  if (matches_any(kOldOpenMpi, library_name)) return MpiFamily::kOldOpenMpi;
  if (matches_any(kStandard, library_name)) return MpiFamily::kMpiStandard;
  if (matches_any(kMpich, library_name)) return MpiFamily::kMpich;
  return MpiFamily::kNone;
}

bool is_fortran_layer(std::string_view library_name) {
  return matches_any(kFortranLayers, without_directory(library_name));
}

bool is_always_shared(std::string_view library_name) {
  return matches_any(kSystem, library_name) || matches_any(kShared, library_name) ||
         library_name.starts_with("ld-linux");
}

Result<std::vector<std::pair<std::string, std::string>>> list_libraries(
    const ElfFile& program, const std::string& interpreter, const std::string& preloaded) {
  const Result<std::string> text = run_and_read(interpreter, program.path(), preloaded);
  if (!text) return std::unexpected(text.error());
  std::vector<std::pair<std::string, std::string>> libraries;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    parse_line(std::string_view(*text).substr(begin, end - begin), libraries);
    begin = end + 1;
  }
  return libraries;
}

Result<Closure> find_closure(const ElfFile& program, const std::string& interpreter,
                             const std::vector<std::string>& private_patterns) {
  auto listed = list_libraries(program, interpreter);
  if (!listed) return std::unexpected(listed.error());
  std::map<std::string, std::string> paths(listed->begin(), listed->end());

  Closure closure;
  closure.names_open_mpi_handles = needs_mpi(program) && has_open_mpi_handles(program);
  const std::set<std::string> copied = copied_variables(program);
  std::vector<Node> nodes;
  std::set<std::string> seen;
  struct Need {
    std::string name;
    std::string by;
  };
  std::deque<Need> queue;
  for (const std::string& name : program.needed()) queue.push_back({name, {}});
  while (!queue.empty()) {
    const auto [name, by] = queue.front();
    queue.pop_front();
    if (!seen.insert(name).second || name.starts_with("ld-linux")) continue;
    if (mpi_family(name) != MpiFamily::kNone) {
      closure.mpi_libraries.push_back(name);
      closure.mpi_users.push_back(by);
      continue;
    }
    const std::string path = paths[name];
    if (path.empty()) {
      closure.missing.push_back(name);
      continue;
    }
    Result<ElfFile> file = ElfFile::open(path);
    if (!file) return std::unexpected(file.error());
    const bool is_held = !matches_any(kSystem, name) && defines_any(*file, copied);
    nodes.push_back({name, path, file->needed(), is_held});
    for (const std::string& needed : nodes.back().needed) queue.push_back({needed, name});
    if (needs_mpi(*file) && has_open_mpi_handles(*file)) closure.names_open_mpi_handles = true;
  }
  mark_private(nodes, private_patterns);
  for (Node& node : nodes)
    closure.libraries.push_back({std::move(node.name), std::move(node.path), node.is_private});
  return closure;
}

}  // namespace sesame::loader
