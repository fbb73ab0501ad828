#include "core/loader/process.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/base/check.h"
#include "core/loader/images.h"
#include "core/loader/real.h"

namespace sesame::loader {

thread_local constinit RankProcess* g_active = nullptr;

namespace {

int64_t wall_clock_ps() {
  timespec now;
  REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
  return (now.tv_sec * 1'000'000'000 + now.tv_nsec) * 1000;
}

void ignore_sleep(int64_t) {}

void exit_host(int status) { REAL(_exit)(status); }

void abort_host(int status, const char* why) {
  const std::string line = std::string(why) + "\n";
  (void)!REAL(write)(2, line.data(), line.size());
  REAL(_exit)(status);
}

const char* host_node_name() {
  static char name[256];
  REAL(gethostname)(name, sizeof name - 1);
  return name;
}

void write_to_host(int, int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = REAL(write)(fd, data, size);
    if (written <= 0) return;
    data += written;
    size -= static_cast<size_t>(written);
  }
}

const char* no_call() { return nullptr; }

// The host's C library state, put aside while a rank is active.
struct HostState {
  SwitchedState switched;
  locale_t locale = nullptr;
  int directory = -1;
  int file_mode_mask = 0;
};

SimulationHooks g_hooks;
int g_host_pid = 0;
HostState g_host;
bool g_swap_directories = false;
bool g_swap_locales = false;
bool g_thread_blocks = false;
RankProcess* g_directory_owner = nullptr;  // whose directory and mask are in force

// Addresses of this thread's state in the C++ runtime and the C library.
struct ThreadState {
  ExceptionState* exceptions = nullptr;
  int* error_number = nullptr;
};
thread_local constinit ThreadState t_state;

void find_thread_state() {
  t_state.exceptions = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  t_state.error_number = &errno;
}

void save(SwitchedState& state) {
  state.exceptions = *t_state.exceptions;
  state.error_number = *t_state.error_number;
}

void restore(const SwitchedState& state) {
  stdin = state.in;
  stdout = state.out;
  stderr = state.err;
  environ = state.environment;
  *t_state.exceptions = state.exceptions;
  *t_state.error_number = state.error_number;
}

// A rank that has not changed its directory is in the host's.
void swap_directory(const RankProcess* next) {
  const int directory =
      next != nullptr && next->directory >= 0 ? next->directory : g_host.directory;
  const int mask =
      next != nullptr && next->file_mode_mask >= 0 ? next->file_mode_mask : g_host.file_mode_mask;
  CHECK(REAL(fchdir)(directory) == 0);
  ::umask(static_cast<mode_t>(mask));
}

void swap_rare_state(RankProcess* next) {
  const int error_number = errno;
  const auto is_plain = [](const RankProcess* p) {
    return p == nullptr || (p->directory < 0 && p->file_mode_mask < 0);
  };
  if (g_swap_directories && next != g_directory_owner &&
      !(is_plain(next) && is_plain(g_directory_owner))) {
    swap_directory(next);
    g_directory_owner = next;
  }
  if (g_swap_locales)
    uselocale(next != nullptr && next->locale != nullptr ? next->locale : g_host.locale);
  errno = error_number;
}

}  // namespace

const SimulationHooks& hooks() { return g_hooks; }

int host_pid() { return g_host_pid; }
bool is_forked() { return REAL(getpid)() != g_host_pid; }

void continue_in_this_process() { g_host_pid = REAL(getpid)(); }

void set_hooks(const SimulationHooks& hooks) {
  g_hooks = hooks;
  g_host_pid = REAL(getpid)();
  if (g_hooks.now_ps == nullptr) g_hooks.now_ps = wall_clock_ps;
  if (g_hooks.cpu_time_ps == nullptr) g_hooks.cpu_time_ps = g_hooks.now_ps;
  if (g_hooks.skip_host_time == nullptr) g_hooks.skip_host_time = [] {};
  if (g_hooks.may_cancel == nullptr) g_hooks.may_cancel = [] {};
  if (g_hooks.sleep_ns == nullptr) g_hooks.sleep_ns = ignore_sleep;
  if (g_hooks.exit_rank == nullptr) g_hooks.exit_rank = exit_host;
  if (g_hooks.abort_job == nullptr) g_hooks.abort_job = abort_host;
  if (g_hooks.node_name == nullptr) g_hooks.node_name = host_node_name;
  if (g_hooks.write_output == nullptr) g_hooks.write_output = write_to_host;
  if (g_hooks.current_call == nullptr) g_hooks.current_call = no_call;
}

void swap_directories_from_now_on() {
  g_directory_owner = current();
  if (g_swap_directories) return;
  g_host.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  g_host.file_mode_mask = static_cast<int>(::umask(0));
  ::umask(static_cast<mode_t>(g_host.file_mode_mask));
  g_swap_directories = true;
}

void swap_locales_from_now_on() {
  if (g_swap_locales) return;
  g_host.locale = uselocale(nullptr);
  g_swap_locales = true;
}

namespace {

// What every switch between ranks does.
void exchange_state(RankProcess* previous, RankProcess* next) {
  if (t_state.exceptions == nullptr) [[unlikely]]
    find_thread_state();
  SwitchedState& host = g_host.switched;
  if (previous == nullptr) {
    host.in = stdin;
    host.out = stdout;
    host.err = stderr;
    host.environment = environ;
  }
  save(previous == nullptr ? host : previous->switched);
  g_active = next;
  restore(next == nullptr ? host : next->switched);
}

}  // namespace

void set_active(RankProcess* next) {
  RankProcess* previous = g_active;
  if (previous == next) return;
  exchange_state(previous, next);
  if (g_swap_directories || g_swap_locales) [[unlikely]]
    swap_rare_state(next);
}

void activate(RankProcess* next) {
  if (!g_thread_blocks) [[likely]]
    return set_active(next);
  if (g_active != next) exchange_state(g_active, next);
  enter_thread_block(next == nullptr ? nullptr : next->thread_block.get());
  swap_rare_state(next);
}

void enter_thread_blocks_from_now_on() { g_thread_blocks = true; }

void set_stream(RankProcess& process, Variable which, FILE* file) {
  process.variable<FILE*>(which) = file;
  if (which == Variable::kStdin) stdin = process.switched.in = file;
  if (which == Variable::kStdout) stdout = process.switched.out = file;
  if (which == Variable::kStderr) stderr = process.switched.err = file;
}

void set_environment(RankProcess& process, char** environment) {
  process.variable<char**>(Variable::kEnviron) = environment;
  environ = process.switched.environment = environment;
}

RankProcess* active() { return g_active; }

std::vector<const void*> often_used(const RankProcess& process) {
  std::vector<const void*> places = {&process.switched};
  for (const VariableLocation& line : process.images->call_slots) {
    places.push_back(reinterpret_cast<const void*>(process.bases[line.image] + line.offset));
  }
  return places;
}

const void* loaded_program(const RankProcess& process) { return process.images; }

uintptr_t program_address(const RankProcess& process) { return process.bases[0]; }

static const void* variable_in(const RankProcess& process, size_t image, const char* name) {
  const Elf64_Sym* symbol = process.images->images[image]->file.find(name);
  if (symbol == nullptr || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) return nullptr;
  return reinterpret_cast<const void*>(process.bases[image] + symbol->st_value);
}

bool may_cancel(const RankProcess& process) { return process.images->program.may_cancel; }

const void* program_variable(const RankProcess& process, const char* name) {
  return variable_in(process, 0, name);
}

const void* private_variable(const RankProcess& process, const char* name) {
  for (size_t i = 0; i < process.bases.size(); ++i) {
    if (process.images->images[i] == nullptr || process.bases[i] == 0) continue;
    if (const void* variable = variable_in(process, i, name)) return variable;
  }
  return nullptr;
}

const void* program_function(const RankProcess& process, const char* name) {
  for (const uint32_t image : process.images->program.start_order) {
    const Elf64_Sym* symbol = process.images->images[image]->file.find(name);
    if (symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
      return reinterpret_cast<const void*>(process.bases[image] + symbol->st_value);
  }
  return nullptr;
}

int rank_of(const RankProcess& process) { return process.rank; }

void set_stack(RankProcess& process, void* low, size_t size, size_t guard_size) {
  process.stack_low = static_cast<char*>(low);
  process.stack_size = size;
  process.guard_size = guard_size;
  if (process.images->executable_stack)
    CHECK(mprotect(low, size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
}

}  // namespace sesame::loader
