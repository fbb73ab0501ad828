// A process that becomes another program, as a shell that starts that of its rank: a statically
// linked one loads no library of ours, so another program starts it (core/remote/static), which
// executes it as it is if it has no MPI. Children of vfork call, too: nothing here allocates memory
// or uses locks.
#include "core/remote/program/exec_calls.h"

#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/remote/wire.h"

extern char** environ;

namespace sesame::remote {
namespace {

// Not the ones that record calls on files.
struct HostFile {
  explicit HostFile(const char* path)
      : descriptor(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))) {}
  ~HostFile() {
    if (descriptor >= 0) syscall(SYS_close, descriptor);
  }
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;
  bool read(void* to, size_t bytes, uint64_t offset) const {
    return syscall(SYS_pread64, descriptor, to, bytes, offset) == static_cast<ssize_t>(bytes);
  }

  int descriptor;
};

// Whether it names no dynamic linker.
bool is_static(const char* path) {
  const HostFile file(path);
  Elf64_Ehdr header;
  if (file.descriptor < 0 || !file.read(&header, sizeof header, 0)) return false;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(&segment, sizeof segment, header.e_phoff + i * sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

// The value of a variable of an environment; null: it has none.
const char* value_in(char* const environment[], const char* name) {
  const size_t length = strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  return nullptr;
}

// The C library's own. Found before children of vfork need them.
struct Real {
  decltype(&::execve) execve = reinterpret_cast<decltype(&::execve)>(dlsym(RTLD_NEXT, "execve"));
  decltype(&::execvpe) execvpe =
      reinterpret_cast<decltype(&::execvpe)>(dlsym(RTLD_NEXT, "execvpe"));
};
const Real& real() {
  static const Real functions;
  return functions;
}
[[gnu::constructor]] void find_real() { real(); }

// Whether this is to be asked about statically linked programs: it may be a rank, or become one.
bool is_of_rank(char* const environment[]) {
  return value_in(environment, kLibrariesVariable) != nullptr &&
         value_in(environment, kSlotVariable) != nullptr;
}

}  // namespace

int execute_by_starter(const char* path, char* const environment[], Execution execution,
                       void* context) {
  if (!is_of_rank(environment) || access(path, X_OK) != 0 || !is_static(path))
    return execution(path, environment, context);
  size_t count = 0;
  while (environment[count] != nullptr) ++count;
  auto* const extended = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  memcpy(extended, environment, count * sizeof(char*));
  char program[PATH_MAX + 64], starter[PATH_MAX + 64];
  snprintf(program, sizeof program, "%s=%s", kStaticProgramVariable, path);
  snprintf(starter, sizeof starter, "%s/sesame-static-rank",
           value_in(environment, kLibrariesVariable));
  extended[count] = program;
  extended[count + 1] = nullptr;
  return execution(starter, extended, context);
}

bool find_static(const char* name, char (&path)[PATH_MAX]) {
  for (const char* begin = getenv("PATH"); begin != nullptr;) {
    const char* const end = strchrnul(begin, ':');
    // An empty part is the working directory.
    snprintf(path, sizeof path, "%.*s%s%s", static_cast<int>(end - begin), begin,
             end == begin ? "" : "/", name);
    if (access(path, X_OK) == 0) return is_static(path);
    begin = *end == '\0' ? nullptr : end + 1;
  }
  return false;
}

namespace {

int execute(const char* path, char* const arguments[], char* const environment[]) {
  const Execution execution = [](const char* program, char* const given[], void* context) {
    return real().execve(program, static_cast<char* const*>(context), given);
  };
  return execute_by_starter(path, environment, execution, const_cast<char**>(arguments));
}

// Arguments of a function that has them as a list, which ends with a null pointer.
size_t count_of(const char* first, va_list* list) {
  size_t count = 0;
  for (const char* next = first; next != nullptr; next = va_arg(*list, const char*)) ++count;
  return count;
}
void copy(const char* first, va_list* list, char** arguments) {
  for (const char* next = first; next != nullptr; next = va_arg(*list, const char*))
    *arguments++ = const_cast<char*>(next);
  *arguments = nullptr;
}

int execute_on_path(const char* name, char* const arguments[], char* const environment[]) {
  if (strchr(name, '/') != nullptr && is_of_rank(environment) && is_static(name))
    return execute(name, arguments, environment);
  char path[PATH_MAX];
  if (strchr(name, '/') == nullptr && is_of_rank(environment) && find_static(name, path))
    return execute(path, arguments, environment);
  return real().execvpe(name, arguments, environment);
}

}  // namespace
}  // namespace sesame::remote

#define SESAME_EXEC extern "C" __attribute__((visibility("default"))) int

SESAME_EXEC execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  return sesame::remote::execute(path, arguments, environment);
}
SESAME_EXEC execv(const char* path, char* const arguments[]) noexcept {
  return sesame::remote::execute(path, arguments, environ);
}
SESAME_EXEC execvp(const char* name, char* const arguments[]) noexcept {
  return sesame::remote::execute_on_path(name, arguments, environ);
}
SESAME_EXEC execvpe(const char* name, char* const arguments[], char* const environment[]) noexcept {
  return sesame::remote::execute_on_path(name, arguments, environment);
}

// `list` is after the null pointer then.
#define SESAME_ARGUMENTS(first, list)                                               \
  va_list list;                                                                     \
  va_start(list, first);                                                            \
  const size_t count = sesame::remote::count_of(first, &list);                      \
  va_end(list);                                                                     \
  auto* const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(list, first);                                                            \
  sesame::remote::copy(first, &list, arguments)

SESAME_EXEC execl(const char* path, const char* first, ...) noexcept {
  SESAME_ARGUMENTS(first, list);
  va_end(list);
  return sesame::remote::execute(path, arguments, environ);
}
SESAME_EXEC execlp(const char* name, const char* first, ...) noexcept {
  SESAME_ARGUMENTS(first, list);
  va_end(list);
  return sesame::remote::execute_on_path(name, arguments, environ);
}
SESAME_EXEC execle(const char* path, const char* first, ...) noexcept {
  SESAME_ARGUMENTS(first, list);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return sesame::remote::execute(path, arguments, environment);
}
