// Calls on files that the loader serves together with what only ranks in one process need: standard
// streams, and the name of the program.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/loader/bindings.h"
#include "core/loader/files.h"
#include "core/loader/real.h"
#include "core/remote/program/exec_calls.h"

namespace sesame::loader {

namespace {

bool has_open_files() {
  const TableLock lock;
  return std::ranges::any_of(*g_descriptors, [](const Descriptor& d) { return d.file != nullptr; });
}

// A standard stream becomes a simulated file: the variable of that name points to another FILE from
// then on, and its descriptor is that of the file.
FILE* reopen_standard(const char* path, const char* mode, FILE*& stream, int fd) {
  REAL(fflush)(stream);
  FILE* const opened = open_file_stream("freopen", path, mode);
  if (opened == nullptr) return nullptr;
  dup2(descriptor_of_stream(opened), fd);
  return stream = opened;
}

// Closes those that the program closes without naming them.
void close_range_of_files(unsigned first, unsigned last) {
  for (size_t fd = first; fd <= last && fd < g_descriptors->size(); ++fd)
    if (open_file(static_cast<int>(fd)) != nullptr) close_descriptor(static_cast<int>(fd));
}

// What else posix_spawn() is given.
struct Spawn {
  decltype(&::posix_spawn) function;
  pid_t* child;
  const posix_spawn_file_actions_t* actions;
  const posix_spawnattr_t* attributes;
  char* const* arguments;
};
int spawn_program(const char* path, char* const environment[], void* context) {
  const Spawn& spawn = *static_cast<Spawn*>(context);
  return spawn.function(spawn.child, path, spawn.actions, spawn.attributes, spawn.arguments,
                        environment);
}

}  // namespace

void tell_inherited_files() {
  if (current() != nullptr && has_open_files())
    tell_use_without_time("children that were started while files were open");
}

extern "C" {

int rank_close_range(unsigned first, unsigned last, int flags) {
  if ((static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0) close_range_of_files(first, last);
  return REAL(close_range)(first, last, flags);
}
void rank_closefrom(int first) {
  if (first >= 0) close_range_of_files(static_cast<unsigned>(first), ~0U);
  REAL(closefrom)(first);
}

int rank_posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                     const posix_spawnattr_t* attributes, char* const arguments[],
                     char* const environment[]) {
  tell_inherited_files();
  Spawn spawn{REAL(posix_spawn), child, actions, attributes, arguments};
  return remote::execute_by_starter(path, environment, spawn_program, &spawn);
}
int rank_posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                      const posix_spawnattr_t* attributes, char* const arguments[],
                      char* const environment[]) {
  tell_inherited_files();
  Spawn spawn{REAL(posix_spawnp), child, actions, attributes, arguments};
  char path[PATH_MAX];
  const bool is_path = strchr(file, '/') != nullptr;
  if (is_path || remote::find_static(file, path))
    return remote::execute_by_starter(is_path ? file : path, environment, spawn_program, &spawn);
  return spawn_program(file, environment, &spawn);
}
int rank_system(const char* command) {
  tell_inherited_files();
  return REAL(system)(command);
}
FILE* rank_popen(const char* command, const char* mode) {
  tell_inherited_files();
  return REAL(popen)(command, mode);
}

int rank_fclose(FILE* file) {
  return current() == nullptr ? REAL(fclose)(file) : close_file_stream(file);
}
int rank_fileno(FILE* file) {
  const int fd = current() == nullptr ? -1 : descriptor_of_stream(file);
  return fd >= 0 ? fd : REAL(fileno)(file);
}
FILE* rank_freopen(const char* path, const char* mode, FILE* file) {
  if (current() == nullptr) return REAL(freopen)(path, mode, file);
  if (descriptor_of_stream(file) < 0) {
    const ResolvedPath found = path == nullptr ? ResolvedPath() : resolve(AT_FDCWD, path, true);
    const bool is_host = path != nullptr && found.error == 0 && !found.is_simulated();
    if (is_host) return REAL(freopen)(found.host_path.c_str(), mode, file);
    if (!found.is_simulated()) return REAL(freopen)(path, mode, file);
    if (file == stdin) return reopen_standard(path, mode, stdin, STDIN_FILENO);
    if (file == stdout) return reopen_standard(path, mode, stdout, STDOUT_FILENO);
    if (file == stderr) return reopen_standard(path, mode, stderr, STDERR_FILENO);
  }
  return reopen_file_stream(path, mode, file);
}

ssize_t rank_readlink(const char* path, char* buffer, size_t size) {
  return SERVES_RANK() ? read_link("readlink", AT_FDCWD, path, buffer, size)
                       : REAL(readlink)(path, buffer, size);
}
ssize_t rank_readlinkat(int directory, const char* path, char* buffer, size_t size) {
  return SERVES_RANK() ? read_link("readlinkat", directory, path, buffer, size)
                       : REAL(readlinkat)(directory, path, buffer, size);
}
ssize_t rank___readlink_chk(const char* path, char* buffer, size_t size, size_t) {
  return rank_readlink(path, buffer, size);
}
char* rank_realpath(const char* path, char* resolved) {
  return SERVES_RANK() && path != nullptr ? real_path(path, resolved)
                                          : REAL(realpath)(path, resolved);
}
char* rank___realpath_chk(const char* path, char* resolved, size_t) {
  return rank_realpath(path, resolved);
}

}  // extern "C"

void bind_streams(BindingTable& table) {
  BIND(table, close_range);
  BIND(table, closefrom);
  BIND(table, posix_spawn);
  BIND(table, posix_spawnp);
  BIND(table, system);
  BIND(table, popen);
  BIND(table, fclose);
  BIND(table, fileno);
  BIND_AS(table, "fileno_unlocked", fileno);
  BIND(table, freopen);
  BIND_AS(table, "freopen64", freopen);
}

void bind_dynamic(BindingTable& table) {
  BIND(table, readlink);
  BIND(table, readlinkat);
  BIND(table, __readlink_chk);
  BIND(table, realpath);
  BIND(table, __realpath_chk);
}

}  // namespace sesame::loader
