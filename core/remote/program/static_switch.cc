#include "core/remote/program/static_switch.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

namespace sesame::remote {
namespace {

static_assert(offsetof(StaticSwitch, own_pointer) == 8);
static_assert(offsetof(StaticSwitch, own_errno) == 16);
static_assert(offsetof(StaticSwitch, program_errno) == 24);
static_assert(offsetof(StaticSwitch, function) == 32);
static_assert(offsetof(StaticSwitch, program_pointer) == 40);
static_assert(offsetof(StaticSwitch, handlers) == 48);
static_assert(sizeof(SwitchedCall) == 32);

// Calls of MPI, its callbacks and signal handlers that may be in each other.
constexpr size_t kMostCalls = 2048;

constinit StaticSwitch instance;
constinit bool is_switching = false;
// The first has the highest stack address, so that it never counts as one that has been left.
alignas(32) constinit SwitchedCall calls[kMostCalls] = {{0, ~uint64_t{0}, {}}};

uint64_t thread_pointer() {
  uint64_t pointer;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));  // the x86-64 psABI: it points to itself
  return pointer;
}

}  // namespace

void sesame_rank_start_switching(int64_t program_errno) {
  instance.top = reinterpret_cast<uint64_t>(&calls[1]);
  instance.own_pointer = thread_pointer();
  instance.own_errno = reinterpret_cast<uint64_t>(&errno);
  instance.program_errno = program_errno;
  is_switching = true;
  __asm__ volatile("wrgsbase %0" : : "r"(&instance));
}

StaticSwitch* sesame_rank_switch() { return is_switching ? &instance : nullptr; }

void* sesame_rank_callable(void* function) {
  if (!is_switching) return function;
  instance.function = reinterpret_cast<uint64_t>(function);
  return reinterpret_cast<void*>(sesame_static_leave);
}

const void* sesame_rank_call_site(const void* seen) {
  if (!is_switching) return seen;
  const auto* const last = reinterpret_cast<const SwitchedCall*>(instance.top) - 1;
  return reinterpret_cast<const void*>(last->return_address);
}

}  // namespace sesame::remote
