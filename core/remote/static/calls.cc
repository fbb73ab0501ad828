#include "core/remote/static/calls.h"

#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/remote/program/connection.h"
#include "core/remote/program/static_switch.h"

namespace sesame::remote {
namespace {

// Of its heap: more than a program needs, which takes addresses only. Bytes.
constexpr uint64_t kMostHeap = uint64_t{1} << 36;
constexpr uint64_t kPage = 4096;

struct Program {
  ProgramCalls calls;
  void* malloc = nullptr;
  void* flush = nullptr;      // all its streams
  char** heap_end = nullptr;  // its C library's variable __curbrk
  char* heap = nullptr;       // null: not reserved yet
  char* end = nullptr;        // of what it has asked for
  char* limit = nullptr;      // of what it may ask for
};
Program& program() {
  static auto* const instance = new Program;  // the program does not return
  return *instance;
}

// Calls a function of the program.
template <typename R, typename... A>
R call(void* function, A... arguments) {
  return reinterpret_cast<R (*)(A...)>(sesame_rank_callable(function))(arguments...);
}

// ---- Its heap ----

char* page_above(char* address) {
  return reinterpret_cast<char*>((reinterpret_cast<uint64_t>(address) + kPage - 1) & -kPage);
}

bool move_end(char* end) {
  char* const before = page_above(program().end);
  char* const after = page_above(end);
  if (after > before)
    return mprotect(before, static_cast<size_t>(after - before), PROT_READ | PROT_WRITE) == 0;
  // What it gets again later must be zero.
  return after == before ||
         mmap(after, static_cast<size_t>(before - after), PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void begin_heap() {
  Program& p = program();
  p.calls.on_memory();
  void* const memory =
      mmap(nullptr, kMostHeap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  static char none;  // the heap stays empty, and the C library maps memory instead
  p.heap = p.end = memory == MAP_FAILED ? &none : static_cast<char*>(memory);
  p.limit = memory == MAP_FAILED ? p.heap : p.heap + kMostHeap;
}

// The kernel's would be that of our C library, too, and each takes what it got last for its end.
int program_brk(char* address) {
  Program& p = program();
  if (p.heap == nullptr) begin_heap();
  const bool is_question = address < p.heap;
  const bool is_possible = is_question || (address <= p.limit && move_end(address));
  if (!is_question && is_possible) p.end = address;
  *p.heap_end = p.end;
  if (is_possible) return 0;
  errno = ENOMEM;
  return -1;
}

// ---- What it asks about itself ----

char* program_getcwd(char* buffer, size_t size) {
  if (buffer != nullptr) return getcwd(buffer, size);
  char path[PATH_MAX];
  if (getcwd(path, size == 0 ? sizeof path : std::min(size, sizeof path)) == nullptr)
    return nullptr;
  const size_t length = strlen(path) + 1;
  // It will free it.
  auto* const copy = call<char*>(program().malloc, std::max(size, length));
  return copy == nullptr ? nullptr : strcpy(copy, path);
}

bool is_own_link(const char* path) {
  return path != nullptr && strcmp(path, "/proc/self/exe") == 0;
}

ssize_t read_own_link(char* buffer, size_t size) {
  const std::string& path = program().calls.path;
  const size_t length = std::min(size, path.size());
  memcpy(buffer, path.data(), length);
  return static_cast<ssize_t>(length);
}

ssize_t program_readlink(const char* path, char* buffer, size_t size) {
  return is_own_link(path) ? read_own_link(buffer, size) : readlink(path, buffer, size);
}

ssize_t program_readlinkat(int directory, const char* path, char* buffer, size_t size) {
  return is_own_link(path) ? read_own_link(buffer, size)
                           : readlinkat(directory, path, buffer, size);
}

// ---- Signals and threads ----

bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// A signal may come while our code runs, with our thread pointer.
int program_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  uint64_t* const handlers = sesame_rank_switch()->handlers;
  const bool is_signal = number > 0 && number < NSIG;
  const uint64_t handler_before = is_signal ? handlers[number] : 0;
  struct sigaction changed {};
  if (action != nullptr && is_signal && is_function(*action)) {
    changed = *action;
    handlers[number] = reinterpret_cast<uint64_t>(action->sa_sigaction);
    changed.sa_sigaction = reinterpret_cast<decltype(changed.sa_sigaction)>(sesame_static_signal);
    action = &changed;
  }
  const int result = sigaction(number, action, before);
  if (result != 0 && action == &changed) handlers[number] = handler_before;
  const bool is_ours = result == 0 && before != nullptr &&
                       before->sa_sigaction ==
                           reinterpret_cast<decltype(before->sa_sigaction)>(sesame_static_signal);
  if (is_ours)
    before->sa_sigaction = reinterpret_cast<decltype(before->sa_sigaction)>(handler_before);
  return result;
}

int program_pthread_create() {
  std::fprintf(stderr,
               "sesame: '%s' starts a thread, which statically linked programs cannot do here\n"
               "hint: link it without -static, or let it use one thread (OMP_NUM_THREADS=1)\n",
               program().calls.path.c_str());
  _exit(2);
}

template <typename Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

std::span<const OwnFunction> own_functions() {
  static const OwnFunction functions[] = {
      {"__brk", address(program_brk)},
      {"__libc_sigaction", address(program_sigaction)},
      {"__pthread_create", address(program_pthread_create)},
      {"getcwd", address(program_getcwd)},
      {"pthread_create", address(program_pthread_create)},
      {"readlink", address(program_readlink)},
      {"readlinkat", address(program_readlinkat)},
  };
  return functions;
}

namespace {

std::unexpected<Error> lacks(const std::string& path, const char* name) {
  return error("'" + path + "' has no " + name +
                   ", expected a statically linked program with the GNU C library",
               "link it without -static");
}

// Null: there is none, or not in a segment with these flags.
char* find_in(const StaticImage& image, const StaticSymbols& symbols, const char* name,
              uint32_t flags) {
  const Elf64_Sym* const symbol = symbols.find(name);
  const uint64_t size = flags == PF_W ? sizeof(void*) : 1;
  const bool is_there = symbol != nullptr && image.has(symbol->st_value, size, flags);
  return is_there ? image.at(symbol->st_value) : nullptr;
}

}  // namespace

Result<> use(ProgramCalls calls, const StaticSymbols& symbols, const StaticImage& image) {
  Program& p = program();
  for (const char* name : {"__brk", "__libc_sigaction", "malloc"})
    if (find_in(image, symbols, name, PF_X) == nullptr) return lacks(calls.path, name);
  p.heap_end = reinterpret_cast<char**>(find_in(image, symbols, "__curbrk", PF_W));
  if (p.heap_end == nullptr) return lacks(calls.path, "__curbrk");
  p.calls = std::move(calls);
  p.malloc = find_in(image, symbols, "malloc", PF_X);
  // The second is the name since glibc 2.38.
  for (const char* name : {"_IO_flush_all_lockp", "_IO_flush_all"})
    if (p.flush == nullptr) p.flush = find_in(image, symbols, name, PF_X);
  return {};
}

// The x86-64 psABI: thread-local data of an executable end at the thread pointer.
Result<int64_t> errno_offset(const StaticSymbols& symbols, const loader::ElfFile& file) {
  const Elf64_Phdr* const local = file.segment(PT_TLS);
  const Elf64_Sym* symbol = symbols.find("errno");
  if (symbol == nullptr) symbol = symbols.find("__libc_errno");
  const bool is_local = symbol != nullptr && ELF64_ST_TYPE(symbol->st_info) == STT_TLS;
  if (local == nullptr || !is_local || symbol->st_value + sizeof(int) > local->p_memsz)
    return lacks(file.path(), "errno");
  const uint64_t alignment = std::max<uint64_t>(local->p_align, 1);
  const uint64_t size = (local->p_memsz + alignment - 1) & ~(alignment - 1);
  return static_cast<int64_t>(symbol->st_value) - static_cast<int64_t>(size);
}

void end_program() {
  if (program().flush != nullptr) call<int>(program().flush, 0);
  sesame_rank_say_goodbye();
}

}  // namespace sesame::remote
