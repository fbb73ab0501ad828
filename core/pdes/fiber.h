// A fiber: a thread of control with its own stack that runs until it gives way. A logical process
// runs as one fiber; a switch saves eleven registers and takes about 5 ns. StackPool hands out the
// stacks: address space only, guarded below, pages appear when used.
// One thread uses a pool and its fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace sesame::pdes {

struct Stack {
  char* base = nullptr;  // lowest usable address; the guard page lies just below
  size_t size_bytes = 0;
};

// How the page below a stack is made to fault. A marker in the page table (Linux 6.13) leaves the
// stacks of a batch one mapping; otherwise the page is a mapping of its own and splits them.
enum class Guard : uint8_t { kMarker, kMapping };
// The better one that the running kernel has.
Guard available_guard();
// How many of the kernel's memory mappings a stack takes, the one of its whole batch not counted.
constexpr int mappings_per_stack(Guard guard) { return guard == Guard::kMarker ? 0 : 2; }

class StackPool {
 public:
  static constexpr size_t kGuardBytes = 4096;

  // Stacks of `stack_bytes` (rounded up to pages), reserved `batch` at a time.
  explicit StackPool(size_t stack_bytes, size_t batch = 64, Guard guard = available_guard());
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // An Error names the kernel limit when address space or mappings run out.
  Result<Stack> take();
  void give_back(Stack stack) { free_.push_back(stack); }

 private:
  Result<> reserve_batch();
  // Makes the page below the stack fault and the stack usable.
  bool guard(char* base) const;

  Guard guard_;
  size_t stack_bytes_;
  size_t batch_;
  std::vector<Stack> free_;
  std::vector<std::pair<char*, size_t>> regions_;
};

class Fiber {
 public:
  using Entry = void (*)(Fiber*);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the fiber start in `entry` on `stack` when it is first switched to. The entry function
  // must not return; it ends through Executive::finish().
  void prepare(Stack stack, Entry entry);

  const Stack& stack() const { return stack_; }

  // What the fiber uses as soon as it resumes, a cache line each: loaded shortly before.
  // Forgotten when it has gone on.
  void prefetch_on_resume(const void* line) {
    if (warm_count_ < kWarm) warm_[warm_count_++] = line;
  }
  // The same, whenever it resumes.
  void always_prefetch(const void* line) {
    if (always_count_ >= kWarm) return;
    prefetch_on_resume(line);
    always_count_ = warm_count_;
  }

 private:
  friend class Executive;
  static constexpr int kWarm = 24;

  void* stack_pointer_ = nullptr;
  Fiber* next_ready_ = nullptr;
  bool ready_ = false;
  uint16_t warm_count_ = 0;
  uint16_t always_count_ = 0;
  const void* warm_[kWarm];
  Stack stack_;
};

}  // namespace sesame::pdes
