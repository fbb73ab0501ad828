// execve(2) and its kin. A rank is a copy of its program in the simulator's process: another
// program in its place would take the places of all ranks and of the simulator. So the job ends
// with a message. A child that a rank has forked is a process of its own, and may execute what it
// likes.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/spelling.h"
#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

// Ends the job if a rank's own process would execute the file. Programs try several paths, so one
// that cannot be executed is left to the real function.
void end_if_rank(const char* path) {
  const RankProcess* const process = current();
  if (process == nullptr || is_forked() || access(path, X_OK) != 0) return;
  const std::string why =
      "rank " + std::to_string(process->rank) + " executes '" + path +
      "' in place of its program, which only a rank that is a process can do\n" + "hint: use " +
      spelled("--ranks-as processes", "ranks_as=\"processes\"");
  hooks().abort_job(2, why.c_str());
}

void end_if_rank_finds(const char* name) {
  if (current() == nullptr || is_forked()) return;
  if (strchr(name, '/') != nullptr) return end_if_rank(name);
  const char* const paths = getenv("PATH");
  for (const char* begin = paths == nullptr ? "" : paths; *begin != '\0';) {
    const char* const end = strchrnul(begin, ':');
    end_if_rank((std::string(begin, end) + "/" + name).c_str());
    begin = *end == '\0' ? end : end + 1;
  }
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
  end_if_rank(("/proc/self/fd/" + std::to_string(file)).c_str());
  return REAL(fexecve)(file, arguments, environment);
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
  BIND(table, execl);
  BIND(table, execlp);
  BIND(table, execle);
}

}  // namespace sesame::loader
