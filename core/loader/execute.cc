// execve(2) and its kin. A rank is a copy of its program in the simulator's process: another
// program in its place would take the places of all ranks and of the simulator. So the job ends
// with a message. A child that a rank has forked is a process of its own, and may execute what it
// likes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/spelling.h"
#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

// Whether the active rank's own process, not a child of it, would execute something.
bool is_rank_itself() { return current() != nullptr && !is_forked(); }

bool can_be_executed(const char* path) {
  struct stat file {};
  return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

// Ends the job if a rank executes the file. Programs try several paths, so one that cannot be
// executed is left to the real function.
void end_if_rank(const char* path) {
  if (!is_rank_itself() || !can_be_executed(path)) return;
  const std::string why =
      "rank " + std::to_string(current()->rank) + " executes '" + path +
      "' in place of its program, which only a rank that is a process can do\n" + "hint: use " +
      spelled("--ranks-as processes", "ranks_as=\"processes\"");
  hooks().abort_job(2, why.c_str());
}

// Where execvp(3) looks for names without a slash.
std::string search_path() {
  if (const char* const paths = getenv("PATH")) return paths;
  std::string usual(confstr(_CS_PATH, nullptr, 0), '\0');
  confstr(_CS_PATH, usual.data(), usual.size());
  return usual.c_str();
}

void end_if_rank_finds(const char* name) {
  if (!is_rank_itself()) return;
  if (strchr(name, '/') != nullptr) return end_if_rank(name);
  std::istringstream directories(search_path() + ":");
  for (std::string directory; std::getline(directories, directory, ':');)
    end_if_rank(((directory.empty() ? "." : directory) + "/" + name).c_str());
}

// Ends the job if a rank executes what execveat(2) is given.
void end_if_rank_at(int directory, const char* path, int flags) {
  if (!is_rank_itself()) return;
  const bool is_file = *path == '\0' && (flags & AT_EMPTY_PATH) != 0;
  if (*path == '/' || (directory == AT_FDCWD && !is_file)) return end_if_rank(path);
  const std::string opened = "/proc/self/fd/" + std::to_string(directory);
  end_if_rank(is_file ? opened.c_str() : (opened + "/" + path).c_str());
}

// The arguments of a function that has them as a list; `list` is after the null pointer then.
std::vector<char*> arguments_in(const char* first, va_list* list) {
  std::vector<char*> arguments;
  for (const char* next = first; next != nullptr; next = va_arg(*list, const char*))
    arguments.push_back(const_cast<char*>(next));
  arguments.push_back(nullptr);
  return arguments;
}

}  // namespace

extern "C" {

int rank_execve(const char* path, char* const arguments[], char* const environment[]) {
  end_if_rank(path);
  return REAL(execve)(path, arguments, environment);
}
int rank_execv(const char* path, char* const arguments[]) {
  end_if_rank(path);
  return REAL(execv)(path, arguments);
}
int rank_execvp(const char* name, char* const arguments[]) {
  end_if_rank_finds(name);
  return REAL(execvp)(name, arguments);
}
int rank_execvpe(const char* name, char* const arguments[], char* const environment[]) {
  end_if_rank_finds(name);
  return REAL(execvpe)(name, arguments, environment);
}
int rank_fexecve(int file, char* const arguments[], char* const environment[]) {
  end_if_rank_at(file, "", AT_EMPTY_PATH);
  return REAL(fexecve)(file, arguments, environment);
}
int rank_execveat(int directory, const char* path, char* const arguments[],
                  char* const environment[], int flags) {
  end_if_rank_at(directory, path, flags);
  return REAL(execveat)(directory, path, arguments, environment, flags);
}
int rank_execl(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const std::vector<char*> arguments = arguments_in(first, &list);
  va_end(list);
  return rank_execv(path, arguments.data());
}
int rank_execlp(const char* name, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const std::vector<char*> arguments = arguments_in(first, &list);
  va_end(list);
  return rank_execvp(name, arguments.data());
}
int rank_execle(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  const std::vector<char*> arguments = arguments_in(first, &list);
  char* const* const environment = va_arg(list, char* const*);
  va_end(list);
  return rank_execve(path, arguments.data(), environment);
}

}  // extern "C"

void bind_executions(BindingTable& table) {
  BIND(table, execve);
  BIND(table, execv);
  BIND(table, execvp);
  BIND(table, execvpe);
  BIND(table, fexecve);
  BIND(table, execveat);
  BIND(table, execl);
  BIND(table, execlp);
  BIND(table, execle);
}

}  // namespace sesame::loader
