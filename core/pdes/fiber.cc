#include "core/pdes/fiber.h"

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/base/spelling.h"

extern "C" void sesame_fiber_start();

namespace sesame::pdes {
namespace {

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102  // Linux 6.13
#endif

bool has_guard_markers() {
  constexpr size_t kPage = StackPool::kGuardBytes;
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool works = madvise(page, kPage, MADV_GUARD_INSTALL) == 0;
  munmap(page, kPage);
  return works;
}

// The frame that sesame_switch_stack() pops, lowest address first.
struct SwitchFrame {
  uint32_t mxcsr;
  uint16_t x87_control;
  uint16_t unused;
  void* r15;
  void* r14;
  void (*r13)(Fiber*);
  Fiber* r12;
  void* rbx;
  void* rbp;
  void (*return_address)();
};

}  // namespace

Guard available_guard() {
  static const Guard guard = has_guard_markers() ? Guard::kMarker : Guard::kMapping;
  return guard;
}

StackPool::StackPool(size_t stack_bytes, size_t batch, Guard guard)
    : guard_(guard),
      stack_bytes_((stack_bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes),
      batch_(batch) {}

StackPool::~StackPool() {
  for (auto [address, size] : regions_) munmap(address, size);
}

bool StackPool::guard(char* base) const {
  if (guard_ == Guard::kMarker) {
    return madvise(base - kGuardBytes, kGuardBytes, MADV_GUARD_INSTALL) == 0;
  }
  return mprotect(base, stack_bytes_, PROT_READ | PROT_WRITE) == 0;
}

Result<> StackPool::reserve_batch() {
  const size_t total = stride() * batch_;
  const int protection = guard_ == Guard::kMarker ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* region = mmap(nullptr, total, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (region == MAP_FAILED) {
    return error(std::string("cannot reserve stacks for the ranks: ") + std::strerror(errno),
                 std::string("use a smaller ") + spelled("--stack-size", "stack_size=") +
                     ", or raise the address-space limit (ulimit -v)");
  }
  char* first = static_cast<char*>(region);
  regions_.emplace_back(first, total);
  // Huge pages would make each rank's few kilobytes in use cost two megabytes.
  madvise(region, total, MADV_NOHUGEPAGE);
  for (size_t i = batch_; i-- > 0;) {
    char* base = first + i * stride() + kGuardBytes;
    if (!guard(base)) {
      return error(std::string("cannot map a stack for a rank: ") + std::strerror(errno),
                   "the kernel limits mappings per process: sysctl -w vm.max_map_count=1000000");
    }
    free_.push_back(Stack{base, stack_bytes_});
  }
  return {};
}

Result<Stack> StackPool::take() {
  if (free_.empty()) {
    if (auto reserved = reserve_batch(); !reserved) return std::unexpected(reserved.error());
  }
  Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

size_t StackPool::deepest_use() const {
  std::vector<unsigned char> is_resident(stack_bytes_ / kGuardBytes);
  size_t deepest = 0;
  for (auto [region, size] : regions_) {
    for (size_t at = kGuardBytes; at < size; at += stride()) {
      if (mincore(region + at, stack_bytes_, is_resident.data()) != 0) return 0;
      const auto first = std::ranges::find_if(is_resident, [](auto page) { return page & 1; });
      const auto lowest = first - is_resident.begin();
      deepest = std::max(deepest, stack_bytes_ - static_cast<size_t>(lowest) * kGuardBytes);
    }
  }
  return deepest;
}

namespace {

// The distance of two stacks is a multiple of the page size. Without offsets their most used lines
// would map to the same few sets of the cache. So each stack gets an offset that depends on its
// address.
uintptr_t colour_bytes(const Stack& stack) {
  constexpr uintptr_t kStepBytes = 5 * 64;
  constexpr uintptr_t kColours = 12;  // at most a page
  return reinterpret_cast<uintptr_t>(stack.base) / 4096 % kColours * kStepBytes;
}

}  // namespace

void Fiber::prepare(Stack stack, Entry entry) {
  stack_ = stack;
#ifdef __SANITIZE_ADDRESS__
  // The last fiber on this stack ended without unwinding it.
  __asan_unpoison_memory_region(stack.base, stack.size_bytes);
#endif
  // At function entry rsp + 8 must be a multiple of 16. sesame_fiber_start calls the entry
  // function, so in sesame_fiber_start rsp must be a multiple of 16.
  const uintptr_t end = reinterpret_cast<uintptr_t>(stack.base + stack.size_bytes);
  uintptr_t top = (end - colour_bytes(stack)) & ~uintptr_t{63};
  auto* frame = reinterpret_cast<SwitchFrame*>(top - sizeof(SwitchFrame));
  *frame = SwitchFrame{};
  asm("stmxcsr %0" : "=m"(frame->mxcsr));
  asm("fnstcw %0" : "=m"(frame->x87_control));
  frame->r12 = this;
  frame->r13 = entry;
  frame->return_address = sesame_fiber_start;
  stack_pointer_ = frame;
}

}  // namespace sesame::pdes
