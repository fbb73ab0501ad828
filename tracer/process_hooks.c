/* Calls that replace the program, end it without the destructors of libraries, or start processes.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooks.h"
#include "mappings.h"
#include "process_lifetime.h"
#include "system_call.h"

/* --- exec --------------------------------------------------------------------------------- */

/* Writes buffered records before exec, which would discard them. Not in a child of vfork, whose
 * buffers are its parent's. */
static int begin_exec(int directory) {
  if (sesame_in_vfork) return 0;
  int is_watched = sesame_watches_path(directory);
  int saved = errno;
  sesame_process_end(2);
  errno = saved;
  return is_watched;
}

static void end_exec(int is_watched, uint64_t begin, int call, int directory, const char* path) {
  if (sesame_in_vfork) return;
  int saved = errno;
  sesame_process_resume();
  errno = saved;
  if (is_watched) sesame_record_path(begin, call, 1, directory, path, 0);
}

#define EXEC(name, parameters, arguments, directory, path)            \
  SESAME_HOOK(int, name, parameters) {                                \
    uint64_t begin = sesame_ticks();                                  \
    int is_watched = begin_exec(directory);                           \
    int result = SESAME_REAL(name) arguments;                         \
    end_exec(is_watched, begin, SESAME_CALL_##name, directory, path); \
    return result;                                                    \
  }
EXEC(execve, (const char* path, char* const words[], char* const environment[]),
     (path, words, environment), AT_FDCWD, path)
EXEC(execv, (const char* path, char* const words[]), (path, words), AT_FDCWD, path)
EXEC(execvp, (const char* path, char* const words[]), (path, words), AT_FDCWD, path)
EXEC(execvpe, (const char* path, char* const words[], char* const environment[]),
     (path, words, environment), AT_FDCWD, path)
EXEC(fexecve, (int file, char* const words[], char* const environment[]),
     (file, words, environment), file, "")
EXEC(execveat,
     (int directory, const char* path, char* const words[], char* const environment[], int flags),
     (directory, path, words, environment, flags), directory, path)

/* Makes an array of the arguments up to the null pointer; `behind` reads the argument after it. */
#define EXEC_LIST(name, target, behind, arguments)                                          \
  SESAME_HOOK(int, name, (const char* path, const char* first, ...)) {                      \
    va_list list;                                                                           \
    int count = 1;                                                                          \
    va_start(list, first);                                                                  \
    for (const char* word = first; word != NULL; ++count) word = va_arg(list, const char*); \
    va_end(list);                                                                           \
    char* words[count];                                                                     \
    words[0] = (char*)first;                                                                \
    va_start(list, first);                                                                  \
    for (int i = 1; i < count; ++i) words[i] = va_arg(list, char*);                         \
    behind;                                                                                 \
    va_end(list);                                                                           \
    uint64_t begin = sesame_ticks();                                                        \
    int is_watched = begin_exec(AT_FDCWD);                                                  \
    int result = SESAME_REAL(target) arguments;                                             \
    end_exec(is_watched, begin, SESAME_CALL_##name, AT_FDCWD, path);                        \
    return result;                                                                          \
  }
EXEC_LIST(execl, execv, (void)0, (path, words))
EXEC_LIST(execlp, execvp, (void)0, (path, words))
EXEC_LIST(execle, execve, char** environment = va_arg(list, char**), (path, words, environment))

/* Where posix_spawnp finds a program: a name without a slash is looked for in PATH. */
static const char* found_path(const char* name, char* path, size_t size) {
  const char* directory = getenv("PATH");
  if (directory == NULL || strchr(name, '/') != NULL) return name;
  for (;;) {
    const size_t length = strcspn(directory, ":");
    const int fits = length + strlen(name) + 2 <= size;
    if (fits) {
      snprintf(path, size, "%.*s%s%s", (int)length, directory, length > 0 ? "/" : "", name);
      if (sesame_system_call(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) return path;
    }
    if (directory[length] == '\0') return name;
    directory += length + 1;
  }
}

static const char* spawned_path(const char* path, int is_looked_for, char* found) {
  int saved = errno;
  const char* spawned = is_looked_for ? found_path(path, found, PATH_MAX) : path;
  errno = saved;
  return spawned;
}

#define SPAWN(name, is_looked_for)                                                                 \
  SESAME_HOOK(                                                                                     \
      int, name,                                                                                   \
      (pid_t * child, const char* path, const posix_spawn_file_actions_t* actions,                 \
       const posix_spawnattr_t* attributes, char* const words[], char* const environment[])) {     \
    if (!sesame_watches(SESAME_IO))                                                                \
      return SESAME_REAL(name)(child, path, actions, attributes, words, environment);              \
    char found[PATH_MAX];                                                                          \
    uint64_t begin = sesame_ticks();                                                               \
    int result = SESAME_REAL(name)(child, path, actions, attributes, words, environment);          \
    SESAME_RECORD(                                                                                 \
        path, begin, .call = SESAME_CALL_##name, .directory = AT_FDCWD, .error = (uint16_t)result, \
        .path = spawned_path(sesame_path(path, result), is_looked_for && result == 0, found));     \
    return result;                                                                                 \
  }
SPAWN(posix_spawn, 0)
SPAWN(posix_spawnp, 1)

/* --- The end ------------------------------------------------------------------------------ */

#define EXIT(name)                               \
  SESAME_HOOK(void, name, (int status)) {        \
    if (!sesame_in_vfork) sesame_process_end(1); \
    SESAME_REAL(name)(status);                   \
  }
EXIT(_exit)
EXIT(_Exit)

/* Registered first, it runs after all functions that the program registers. */
static void end_quickly(void) { sesame_process_end(1); }
__attribute__((constructor)) static void watch_quick_exit(void) { at_quick_exit(end_quickly); }

/* --- Children ----------------------------------------------------------------------------- */

/* While a child of vfork runs, it uses the memory of the parent's thread, which sleeps. */
static __thread uint8_t watched_before_vfork;

void sesame_before_vfork(void) {
  sesame_watches(SESAME_IO); /* begins the thread's recording here, so that the child does not */
  if (sesame_in_vfork++ == 0) watched_before_vfork = sesame_hide(SESAME_IO | SESAME_MPI);
}

static void unhide_child(void) {
  if (--sesame_in_vfork == 0) sesame_unhide(watched_before_vfork);
}

#if defined(__x86_64__)
/* Called by vfork.S, in the parent only. Returns what vfork returns. */
int sesame_after_vfork(int result) {
  unhide_child();
  if (result >= 0) return result;
  errno = -result;
  return -1;
}
#else
/* Without vfork.S, vfork is fork: slower, with the same result. */
SESAME_HOOK(pid_t, vfork, (void)) { return fork(); }
#endif

/* The calling process ends inside, without destructors. */
SESAME_HOOK(int, daemon, (int stay, int keep_streams)) {
  if (!sesame_watches(SESAME_IO)) return SESAME_REAL(daemon)(stay, keep_streams);
  sesame_process_end(1);
  int result = SESAME_REAL(daemon)(stay, keep_streams);
  int saved = errno;
  sesame_process_resume();
  errno = saved;
  return result;
}

/* Does what the handlers of pthread_atfork do, after calls that do not run them. */
static void become_child(void) {
  sesame_process_forked();
  sesame_forget_all();
  sesame_mappings_inherit();
}

SESAME_HOOK(pid_t, _Fork, (void)) {
  pid_t child = SESAME_REAL(_Fork)();
  if (child == 0) become_child();
  return child;
}

/* What a child with memory of its own runs. It has a copy of the stack frame with this. */
typedef struct {
  int (*run)(void*);
  void* argument;
} Child;

static int run_child(void* argument) {
  const Child* child = argument;
  become_child();
  int status = child->run(child->argument);
  sesame_process_end(1); /* it ends when this returns, without destructors */
  return status;
}

/* A thread has thread-local variables of its own and needs nothing. */
SESAME_HOOK(int, clone, (int (*run)(void*), void* stack, int flags, void* argument, ...)) {
  va_list others;
  va_start(others, argument);
  pid_t* parent_id = va_arg(others, pid_t*);
  void* variables = va_arg(others, void*);
  pid_t* child_id = va_arg(others, pid_t*);
  va_end(others);
  int is_vfork = (flags & CLONE_VM) && (flags & CLONE_VFORK) && !(flags & CLONE_SETTLS);
  if (is_vfork) sesame_before_vfork();
  Child child = {run, argument};
  if (!(flags & CLONE_VM)) {
    run = run_child;
    argument = &child;
  }
  int result = SESAME_REAL(clone)(run, stack, flags, argument, parent_id, variables, child_id);
  if (is_vfork) unhide_child();
  return result;
}
