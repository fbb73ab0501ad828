// How a rank ends: exit handlers, quick exits, aborts. None of them ends the simulator.
#include "core/loader/exit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/loader/bindings.h"
#include "core/loader/crash.h"
#include "core/loader/dispositions.h"
#include "core/loader/files.h"
#include "core/loader/images.h"
#include "core/loader/real.h"
#include "core/loader/stream.h"

extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern "C" void __assert_fail(const char*, const char*, unsigned int, const char*);

namespace sesame::loader {
namespace {

using Kind = ExitHandler::Kind;

void call(const ExitHandler& handler, int status) {
  switch (handler.kind) {
    case Kind::kPlain:
      reinterpret_cast<void (*)()>(handler.function)();
      break;
    case Kind::kWithStatus:
      reinterpret_cast<void (*)(int, void*)>(handler.function)(status, handler.argument);
      break;
    case Kind::kWithArgument:
      reinterpret_cast<void (*)(void*)>(handler.function)(handler.argument);
      break;
  }
}

// Last registered first. A handler may register more handlers, or call exit(), which runs the rest.
void run_handlers(std::vector<ExitHandler>& handlers, int status) {
  while (!handlers.empty()) {
    const ExitHandler handler = handlers.back();
    handlers.pop_back();
    call(handler, status);
  }
}

[[noreturn]] void end_rank(int status) {
  hooks().exit_rank(status & 0xff);
  abort();
}

// Writes the buffers of a rank that ends and closes its descriptors.
void flush_all(RankProcess& process) {
  flush_streams(process);
  if (file_hooks() == nullptr || current() == nullptr) return;
  flush_file_streams(process);
  close_files(process);
}

// A child that a rank forked is a process of its own: its end must not run the simulator.
void end_if_forked(int status) {
  if (is_forked()) REAL(_exit)(status);
}

}  // namespace

void exit_process(RankProcess& process, int status) {
  run_handlers(process.thread_exit_handlers, status);
  run_handlers(process.exit_handlers, status);
  run_finalizers(process);
  flush_all(process);
  end_rank(status);
}

void host_exit(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

extern "C" {

void rank_exit(int status) {
  if (RankProcess* process = current()) {
    end_if_forked(status);
    exit_process(*process, status);
  }
  REAL(exit)(status);
}
GLOBAL_NAME(exit);

void rank__exit(int status) {
  if (current() != nullptr) {
    end_if_forked(status);
    end_rank(status);
  }
  REAL(_exit)(status);
}
GLOBAL_NAME(_exit);

void rank__Exit(int status) { rank__exit(status); }
GLOBAL_NAME(_Exit);

void rank_quick_exit(int status) {
  if (RankProcess* process = current()) {
    run_handlers(process->quick_exit_handlers, status);
    end_if_forked(status);
    end_rank(status);
  }
  REAL(quick_exit)(status);
}
GLOBAL_NAME(quick_exit);

void rank_abort() {
  if (RankProcess* process = current()) {
    deliver_signal(*process, SIGABRT);
    report_abort(*process, nullptr);
  }
  REAL(abort)();
}
GLOBAL_NAME(abort);

void rank___assert_fail(const char* condition, const char* file, unsigned int line,
                        const char* function) {
  RankProcess* process = current();
  if (process == nullptr) REAL(__assert_fail)(condition, file, line, function);
  fprintf(stderr, "%s: %s:%u: %s: Assertion `%s' failed.\n",
          process->variable<char*>(Variable::kProgramShortName), file, line, function, condition);
  rank_abort();
}

int rank___cxa_atexit(void (*function)(void*), void* argument, void* library) {
  if (RankProcess* process = current()) {
    process->exit_handlers.push_back(
        {Kind::kWithArgument, reinterpret_cast<void*>(function), argument, library});
  }
  return 0;  // dropped in a thread of the program: the handler might outlive the rank
}

int rank___cxa_thread_atexit(void (*function)(void*), void* argument, void* library) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(__cxa_thread_atexit_impl)(function, argument, library);
  process->thread_exit_handlers.push_back(
      {Kind::kWithArgument, reinterpret_cast<void*>(function), argument, library});
  return 0;
}

int rank_atexit(void (*function)()) {
  if (RankProcess* process = current())
    process->exit_handlers.push_back(
        {Kind::kPlain, reinterpret_cast<void*>(function), nullptr, nullptr});
  return 0;
}

int rank_on_exit(void (*function)(int, void*), void* argument) {
  if (RankProcess* process = current())
    process->exit_handlers.push_back(
        {Kind::kWithStatus, reinterpret_cast<void*>(function), argument, nullptr});
  return 0;
}

int rank_at_quick_exit(void (*function)()) {
  if (RankProcess* process = current())
    process->quick_exit_handlers.push_back(
        {Kind::kPlain, reinterpret_cast<void*>(function), nullptr, nullptr});
  return 0;
}

int rank___cxa_at_quick_exit(void (*function)(void*), void* library) {
  if (RankProcess* process = current())
    process->quick_exit_handlers.push_back(
        {Kind::kWithArgument, reinterpret_cast<void*>(function), nullptr, library});
  return 0;
}

// Runs the handlers that an image has registered, before it is unmapped.
void rank___cxa_finalize(void* library) {
  RankProcess* process = current();
  if (process == nullptr || library == nullptr) return;
  std::vector<ExitHandler>& handlers = process->exit_handlers;
  for (size_t i = handlers.size(); i-- > 0;) {
    if (i >= handlers.size() || handlers[i].library != library) continue;
    const ExitHandler handler = handlers[i];
    handlers.erase(handlers.begin() + static_cast<std::ptrdiff_t>(i));
    call(handler, 0);
  }
}

}  // extern "C"

void bind_exits(BindingTable& table) {
  BIND(table, exit);
  BIND(table, _exit);
  BIND(table, _Exit);
  BIND(table, quick_exit);
  BIND(table, abort);
  BIND(table, __assert_fail);
  BIND(table, __cxa_atexit);
  BIND(table, __cxa_thread_atexit);
  BIND_AS(table, "__cxa_thread_atexit_impl", __cxa_thread_atexit);
  BIND(table, atexit);
  BIND(table, on_exit);
  BIND(table, at_quick_exit);
  BIND(table, __cxa_at_quick_exit);
  BIND(table, __cxa_finalize);
}

}  // namespace sesame::loader
